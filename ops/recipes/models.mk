# make -f models.mk models: builds the models as soon as the rows of the last ten minutes are published.
TIDEMARK ?= npx tidemark

.PHONY: models
models:
	$(TIDEMARK) wait events --fresh 10m --timeout 1h
	$(TIDEMARK) query --format csv "SELECT status, count(*) AS events FROM current.events GROUP BY ALL ORDER BY ALL" > events_by_status.csv
