"""A landing zone: hosts put objects under a prefix of their own, and an ingester commits them to a store.

Modules:
    chain_plan         Decide from the names of objects which of them a store lacks, in which order, and which of
                       them it has.
    folder_zone        A landing zone in a folder, which hosts reach through a share, and the interface of every
                       zone.
    ingest_store       What an ingester asks of a store, and the objects of one commit.
    ingester           Take the objects of a landing zone to a store: exactly once, and those of a host in their
                       order.
    lake_ingest        Commit objects of a landing zone to a lake.
    lake_transactions  Read the transactions of all hosts from the log of a lake table at once.
    landing_sink       Deliver lines and facts to a landing zone, from which an ingester takes them to a store.
    object_chain       The chain of objects that an archive puts into a landing zone.
    object_codec       Encode records and facts as one compressed object, and decode objects that anybody may have
                       written.
    object_name        The names of objects in a landing zone.
    open_ingest        Open the zone and the store of an ingester by their addresses.
    postgres_ingest    Commit objects of a landing zone to PostgreSQL: rows and the last object of each host in one
                       transaction.
    s3_signature       Sign requests to S3 and to stores that speak its protocol (AWS Signature Version 4), without
                       a library.
    s3_zone            A landing zone in an object store that speaks the protocol of S3.
"""
