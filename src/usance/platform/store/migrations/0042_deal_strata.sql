-- Strata of the loans that perform after a payment date, as its investor report shows them.
alter table usance.deal_dates add column strata jsonb not null default '[]';
