-- stays that overlap of one patient
SELECT count(*) AS n, max(least(a.discharged, b.discharged) - greatest(a.admitted, b.admitted)) AS most FROM stays a JOIN stays b ON a.patient = b.patient AND a.id < b.id AND (a.admitted, a.discharged) OVERLAPS (b.admitted, b.discharged)
