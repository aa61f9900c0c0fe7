"""Sessions for models: tools that read, over the Model Context Protocol."""
