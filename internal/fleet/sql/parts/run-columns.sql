r.service AS service, r.night AS night, r.build_id AS build_id, r.host AS host, r.run_id AS run_id,
    r.format AS format, r.period AS period, r.has_alloc AS has_alloc, r.model AS model
