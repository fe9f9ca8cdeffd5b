-- Schema of headway: tables that only its functions touch. Carried out again, this changes nothing.
-- Functions are "security definer set search_path = headway1, pg_temp".
select pg_advisory_xact_lock(x'686561647761790a'::bigint);  -- sessions that make it at once wait here

-- Roles belong to the whole server. Where they cannot be made, the role that makes the schema owns it.
do $$
begin
  if to_regrole('headway_owner') is null then create role headway_owner nologin; end if;
  if to_regrole('headway_worker') is null then create role headway_worker nologin; end if;
exception when insufficient_privilege or duplicate_object or unique_violation then null;
end $$;

create schema if not exists headway1;

do $$
begin
  if to_regrole('headway_owner') is not null and pg_has_role('headway_owner', 'member') then
    execute format('grant create on database %I to headway_owner', current_database());
    alter schema headway1 owner to headway_owner;
    set local role headway_owner;
  end if;
exception when insufficient_privilege then null;
end $$;

create table if not exists headway1.about (
  one boolean primary key default true check (one),
  revision int not null
);
insert into headway1.about (revision) values (@revision@)
  on conflict (one) do update set revision = excluded.revision;

create or replace function headway1.revision() returns int
  language sql stable security definer set search_path = headway1, pg_temp
  as 'select revision from about';
