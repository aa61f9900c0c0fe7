"""Charts as SVG, of our own: scales, axes, columns, areas, bars, heat maps, and pages with them.

Modules:
    canvas     Write SVG shapes, and text whose width is known before a browser draws it.
    columns    Draw values along an axis: stacked columns by time or turn, and stacked areas with a limit and marks.
    figure     A chart with its numbers: as a file, or as part of a page with a drawing for wide and one for narrow
               screens.
    heat_map   Draw heat maps: a square for each day of a year, and for each weekday and hour.
    name_bars  Draw horizontal bars for names: the largest twelve, and the rest as "other".
    scale      Scales: steps of 1, 2 or 5, with as many digits as the step needs.
    time_axis  A true time axis: every hour, day, week, month or year between two times has its place, used or not.
"""
