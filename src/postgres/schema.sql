-- Schema of headway: tables that only its functions touch. Carried out again, this changes nothing.
-- Functions are "security definer set search_path = headway1, pg_temp".
select pg_advisory_xact_lock(x'686561647761790a'::bigint);  -- sessions that make it at once wait here

-- Roles belong to the whole server. Where they cannot be made, the role that makes the schema owns it, until one
-- that can make them carries this out.
do $$
begin
  if to_regrole('headway_owner') is null then create role headway_owner nologin; end if;
  if to_regrole('headway_worker') is null then create role headway_worker nologin; end if;
exception when insufficient_privilege or duplicate_object or unique_violation then null;
end $$;

create schema if not exists headway1;

do $$
declare
  was regrole := (select nspowner from pg_namespace where nspname = 'headway1');
  one record;
begin
  if to_regrole('headway_owner') is not null and pg_has_role('headway_owner', 'member') then
    execute format('grant create on database %I to headway_owner', current_database());
    alter schema headway1 owner to headway_owner;
    for one in
      select case c.relkind when 'S' then 'sequence' else 'table' end as kind, c.oid::regclass::text as name
        from pg_class c where c.relnamespace = 'headway1'::regnamespace and c.relkind in ('r', 'S')
          and c.relowner <> 'headway_owner'::regrole and not exists(
            select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype in ('a', 'i')
              and c.relkind = 'S')
      union all
      select 'function', p.oid::regprocedure::text from pg_proc p
        where p.pronamespace = 'headway1'::regnamespace and p.proowner <> 'headway_owner'::regrole
    loop
      execute format('alter %s %s owner to headway_owner', one.kind, one.name);
    end loop;
    -- The role that owned it works on.
    if was <> 'headway_owner'::regrole and not pg_has_role(was, 'headway_worker', 'member') then
      execute format('grant headway_worker to %s', was);
    end if;
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
