-- The loader appends to every table and reads every row, of later tables too; it changes none.
grant select, insert on all tables in schema usance to usance_loader;
alter default privileges in schema usance grant select, insert on tables to usance_loader;
