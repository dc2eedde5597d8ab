s.service AS service, s.night AS night, s.build_id AS build_id, s.host AS host, s.run_id AS run_id,
    s.site_key AS site_key, s.function AS function_name, s.module AS module_name, s.label AS label,
    s.confidence AS confidence, s.gained AS gained, s.slope AS slope
