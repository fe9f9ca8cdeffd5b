-- One limit for the processes of many hosts: which take part, what they report, the state that is valid.
--
-- Instants are microseconds of this engine's clock, keys are salted digests, reports, states and grants are
-- blobs that only headway reads. What makes the limit right is one comparison, `where v = made_of` in publish();
-- the lease only spares work. A crash may lose all tables but `learned`: they are of the moment.

create table if not exists headway1.salt (
  one boolean primary key default true check (one),
  bytes bytea not null);  -- of the digests that scopes are known by
insert into headway1.salt (bytes) values (decode(replace(gen_random_uuid()::text, '-', ''), 'hex'))
  on conflict do nothing;

create sequence if not exists headway1.host_id as int cycle;
create unlogged table if not exists headway1.host (
  id int primary key,
  token uuid not null,     -- tells a host that comes back from another one
  name text not null,
  version text not null,   -- of headway
  since bigint not null,
  seen bigint not null);

create unlogged table if not exists headway1.scope (
  key bytea primary key,
  title text not null,     -- for people: a host name, no credential
  v bigint not null,       -- the version that is valid
  combiner int not null,   -- the host that made it
  lease bigint not null,   -- until then no other need try
  state bytea not null,
  unheard int not null,    -- members that went silent lately and have not left
  common bytea not null) with (fillfactor = 30);  -- the part of the grants that all hear alike
alter table headway1.scope add column if not exists excess float8 not null default 0;  -- of those unheard, over the limit

-- A member is a host in a scope. Only it writes its row; only the combiner writes `granted`. So no two wait
-- for each other.
create unlogged table if not exists headway1.member (
  key bytea not null,
  id int not null,
  seen bigint not null,      -- 0: it has left
  told bigint not null,      -- the number of its last report
  numbers bigint[] not null, -- of the reports that no valid state has heard, as far as known
  reports bytea[] not null,
  primary key (key, id)) with (fillfactor = 30);
create unlogged table if not exists headway1.granted (
  key bytea not null,
  id int not null,
  heard bigint not null,     -- the number of the last report that a valid state has heard
  own bytea not null,        -- its own part of the grant; it holds until another takes its place
  primary key (key, id)) with (fillfactor = 30);

alter table headway1.scope alter state set storage external;
alter table headway1.member alter reports set storage external;
alter table headway1.granted alter own set storage external;

create table if not exists headway1.learned (
  key bytea primary key,
  title text not null,
  rate float8 not null,
  slots float8 not null,
  latency float8 not null,
  at bigint not null);

-- Of revision 1: what they take and return is another now.
drop function if exists headway1.limits();
drop function if exists headway1.exchange(
  int, bytea[], bigint[], bytea[], bigint[], bigint[], bigint[], bigint[], bigint[], bigint[]);
drop function if exists headway1.publish(
  bytea, text, int, bigint, bigint, bigint, bytea, int, bytea, bigint[], bigint[], bytea[], bigint[]);

create or replace function headway1.micros() returns bigint language sql volatile as
  $$ select (extract(epoch from clock_timestamp()) * 1000000)::bigint $$;

create or replace function headway1.channel(key bytea) returns text language sql immutable as
  $$ select 'headway1_' || encode(substr(key, 1, 16), 'hex') $$;

-- Takes a host in, with the id that it had if no other has it; returns its id, the salt and the time.
create or replace function headway1.join(was int, its uuid, named text, its_version text, out id int, out salt bytea,
  out now bigint)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if was > 0 then
    insert into headway1.host as h values (was, its, named, its_version, headway1.micros(), headway1.micros())
      on conflict on constraint host_pkey do update set seen = excluded.seen where h.token = excluded.token
      returning h.id into id;
  end if;
  while id is null loop
    insert into headway1.host as h
      values (nextval('headway1.host_id'::regclass), its, named, its_version, headway1.micros(), headway1.micros())
      on conflict do nothing returning h.id into id;
  end loop;
  select s.bytes, headway1.micros() into salt, now from headway1.salt s;
end $$;

-- The members of a scope that went silent in the last ten minutes and have not left, and by how much at most they exceed the
-- limit, as a share of it, should they live on without us: each at what was its part when it was heard last, half of that after
-- each minute, while the others have it all.
create or replace function headway1.unheard(scope_key bytea, now bigint, out hosts int, out excess float8)
language sql stable set search_path = pg_catalog, pg_temp as $$
  select count(*)::int, coalesce(sum(2::float8 ^ -((now - h.seen) / 60000000) / h.parts), 0)
    from (select m.seen, count(*) over (order by m.seen desc range between unbounded preceding and 3500000 following) as parts
        from headway1.member m where m.key = scope_key and m.seen >= now - 600000000) h
    where h.seen < now - 3500000
$$;

-- One tick of a host, for all its scopes in ascending order of their keys: leaves a report in each, returns what
-- has become of it. `epoch`: it was refused in that one, which all hear at once; -1: it was not. `hold`: nothing
-- goes before, which all hear at once; 0: nothing new. `urgent`: the combiner is to hear it at once. `has`: the version
-- whose grant it has; `keeps`: the one that it made and has the state of.
--
-- `combine`: it is to make the next state; then there are `made_of` and `state` (null where it has that, and
-- where there is none), all reports that are not heard, each after its length, and what was learned unless it has
-- the state.
create or replace function headway1.exchange(
  me int, keys bytea[], numbers bigint[], reports bytea[], epoch bigint[], hold bigint[], urgent bigint[],
  leaves bigint[], has bigint[], keeps bigint[])
returns table (
  now bigint, told bigint, v bigint, common bytea, own bytea, absent int, combine boolean, made_of bigint,
  state bytea, unheard bytea, rate float8, slots float8, latency float8, learned_at bigint, excess float8)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_variable
declare
  mine record;
  valid record;
  past int;
begin
  for i in 1 .. cardinality(keys) loop
    select into valid s.v, s.combiner, s.lease, s.common, s.unheard, s.excess, g.heard, g.own
      from headway1.scope s left join headway1.granted g on g.key = s.key and g.id = me where s.key = keys[i];
    select into mine m.told, m.numbers, m.reports from headway1.member m where m.key = keys[i] and m.id = me;
    if not found then
      insert into headway1.member values (keys[i], me, headway1.micros(), numbers[i], numbers[i:i], reports[i:i])
        on conflict do nothing;  -- another session of this host: it does not come to this
      told := numbers[i];
    elsif numbers[i] > mine.told then
      -- What is heard goes; of what is not, the latest 200 stay, and 2 MB.
      select greatest(count(*), cardinality(mine.numbers) - 199) into past
        from unnest(mine.numbers) n where n <= valid.heard;
      if (select sum(length(r)) from unnest(mine.reports[past + 1:]) r) > 2000000 then
        past := cardinality(mine.numbers);
      end if;
      update headway1.member m set seen = headway1.micros(), told = numbers[i],
          numbers = mine.numbers[past + 1:] || numbers[i], reports = mine.reports[past + 1:] || reports[i]
        where m.key = keys[i] and m.id = me;
      told := numbers[i];
    else
      update headway1.member m set seen = headway1.micros() where m.key = keys[i] and m.id = me;
      told := mine.told;
    end if;
    if told = numbers[i] and (mine.told is null or told > mine.told)
        and (epoch[i] >= 0 or hold[i] > 0 or urgent[i] > 0) then
      perform pg_notify(headway1.channel(keys[i]), format('cut %s %s %s %s', me, coalesce(valid.v, 0), epoch[i], hold[i]));
    end if;

    now := headway1.micros(); v := valid.v; common := null; own := null; combine := false;
    absent := valid.unheard; excess := valid.excess;
    made_of := 0; state := null; unheard := null; learned_at := null;
    if valid.v <> has[i] then common := valid.common; own := valid.own; end if;
    if leaves[i] > 0 then
      update headway1.member m set seen = 0 where m.key = keys[i] and m.id = me;
      update headway1.scope s set lease = 0 where s.key = keys[i] and s.combiner = me;
    elsif valid.v is null or valid.combiner = me then
      combine := true;
    elsif valid.lease not between now and now + 10000000 then  -- later: of a clock that went back
      update headway1.scope s set combiner = me, lease = now + 150000 where s.key = keys[i]
        and s.lease not between now and now + 10000000;
      combine := found;
    end if;
    if combine then
      select s.v, case when s.v <> keeps[i] then s.state end into made_of, state from headway1.scope s where s.key = keys[i];
      -- 16 MB at once; the rest is heard next time.
      select string_agg(int4send(length(u.report)) || u.report, '' order by u.id, u.number) into unheard
        from (select m.id, r.number, r.report, sum(length(r.report)) over (order by m.id, r.number) as bytes
            from headway1.member m left join headway1.granted g on g.key = m.key and g.id = m.id,
              unnest(m.numbers, m.reports) as r(number, report)
            where m.key = keys[i] and r.number > coalesce(g.heard, 0)) u
        where u.bytes <= 16000000;
      select u.hosts, u.excess into absent, excess from headway1.unheard(keys[i], now) u;
      if made_of is null or state is not null then  -- which it may not be able to read
        made_of := coalesce(made_of, 0);
        select l.rate, l.slots, l.latency, l.at into rate, slots, latency, learned_at
          from headway1.learned l where l.key = keys[i];
      end if;
    end if;
    return next;
  end loop;
end $$;

-- Makes a state valid if it was made of the one that is: 0: there was none. Then the members `ids` have heard
-- these reports and have these own parts of their grants, and those of `wake` are told that there is something to hear.
create or replace function headway1.publish(
  scope_key bytea, its_title text, me int, made_of bigint, next bigint, for_us bigint, made bytea, absent int,
  its_excess float8, for_all bytea, ids bigint[], heards bigint[], own bytea[], wake bigint[])
returns boolean language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
  if made_of = 0 then
    insert into headway1.scope
      values (scope_key, its_title, next, me, headway1.micros() + for_us, made, absent, for_all, its_excess)
      on conflict do nothing;
  else
    update headway1.scope s set v = next, combiner = me, lease = headway1.micros() + for_us, state = made, unheard = absent,
        excess = its_excess, common = for_all
      where s.key = scope_key and s.v = made_of;
  end if;
  if not found then return false; end if;
  insert into headway1.granted as g select scope_key, * from unnest(ids, heards, own)
    on conflict (key, id) do update set heard = excluded.heard, own = excluded.own;
  if cardinality(wake) > 0 then
    perform pg_notify(headway1.channel(scope_key), 'turns ' || array_to_string(wake, ','));
  end if;
  return true;
end $$;

-- Keeps what a law has learned, and forgets members that have been away for ten minutes and states without any for a day.
create or replace function headway1.learn(scope_key bytea, its_title text, rate float8, slots float8, latency float8)
returns void language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_variable
declare old bigint := headway1.micros() - 600000000;
begin
  perform set_config('synchronous_commit', 'off', true);  -- a combiner need not wait for the disk
  insert into headway1.learned as l values (scope_key, its_title, rate, slots, latency, headway1.micros())
    on conflict on constraint learned_pkey do update set rate = excluded.rate, slots = excluded.slots,
      latency = excluded.latency, at = excluded.at;
  delete from headway1.granted g using headway1.member m where g.key = m.key and g.id = m.id and m.seen < old;
  delete from headway1.member m where m.seen < old;
  delete from headway1.scope s where s.lease < old - 86400000000
    and not exists (select from headway1.member m where m.key = s.key);
  delete from headway1.host h where h.seen < old
    and not exists (select from headway1.member m where m.id = h.id);
end $$;

-- What people are shown: a row for each member of each scope.
create or replace function headway1.limits(
  out title text, out key bytea, out v bigint, out combiner int, out lease bigint, out state bytea, out now bigint,
  out id int, out name text, out version text, out seen bigint, out unheard int, out excess float8)
returns setof record language sql security definer set search_path = pg_catalog, pg_temp as $$
  select left(s.title, 200), s.key, s.v, s.combiner, s.lease,
      case when row_number() over (partition by s.key order by m.id) = 1 then s.state end,  -- as large as the fleet
      s.now, m.id, left(h.name, 200), left(h.version, 50), m.seen, u.hosts, u.excess
    from (select *, headway1.micros() as now from headway1.scope) s cross join lateral headway1.unheard(s.key, s.now) u
      left join headway1.member m on m.key = s.key left join headway1.host h on h.id = m.id
    order by s.title, s.key, m.id
$$;
