-- One queue for the processes of many hosts: JOBS in blocks of consecutive lines, which workers lease.
--
-- Each call of a function is one transaction, and may be made again when its answer was lost. What makes the results right
-- are two comparisons in queue_commit(), `fence =` and `part`; the lease only spares work. docs/design/016.
--
-- Rows are locked in this order, so that none waits in a circle: blocks by their first line, the worker, the run. What concerns
-- all blocks takes some at a time, so that no call grows with the queue.

create table if not exists headway1.run(
  id bigint generated always as identity primary key,
  name text not null unique check (name ~ '^[A-Za-z0-9._-]{1,64}$'),
  digest bytea not null check (length(digest) = 32),  -- of all lines of JOBS
  shape text not null,                                -- what else makes requests of them
  options text not null check (octet_length(options) <= 1048576),
  lines bigint not null check (lines >= 0),
  uploaded bigint not null default 0,                 -- lines of the blocks that are there
  requests bigint not null default 0,
  sealed timestamptz,                                 -- since then all are there
  stopped boolean not null default false,
  round integer not null default 1,
  blocks bigint not null default 0,
  -- sums over the blocks that have ended
  ended bigint not null default 0,
  success bigint not null default 0,
  failed bigint not null default 0,
  unknown bigint not null default 0,
  waiting bigint not null default 0,                  -- blocks with results to collect
  waiting_bytes bigint not null default 0,
  taken_over bigint not null default 0,               -- blocks, from owners that were not heard any longer
  collector text,                                     -- which file has the results
  created timestamptz not null default clock_timestamp());

-- state: a byte a line: 0 open, 1 success, 2 failed, 3 unknown, 4 intended, 5 no request.
-- Updates touch no indexed column but at the lease and at the end, so they stay on their page (HOT).
create table if not exists headway1.block(
  run bigint not null,
  first bigint not null check (first > 0),
  n integer not null check (n between 1 and 1000),
  fence bigint not null default 0,
  part bigint not null default 0,                     -- commits under this fence
  owner bigint,
  until timestamptz,
  lease interval,                                     -- of this owner: how far ahead `until` may be
  left_open integer not null,
  intended integer not null default 0,                -- lines
  success integer not null default 0,
  failed integer not null default 0,
  unknown integer not null default 0,
  ended boolean not null default false,
  round integer not null default 1,
  collected boolean not null default false,
  bytes bigint not null default 0,                    -- of results that are not collected
  parked text,                                        -- why it is not worked on
  state bytea not null check (length(state) = n),
  lines bytea not null,                               -- each with a line feed
  digests bytea not null check (length(digests) = 8 * n),
  primary key(run, first)) with (fillfactor = 50);
alter table headway1.block alter column state set storage plain;
create index if not exists block_to_do on headway1.block(run, first) where not ended;
create index if not exists block_begun on headway1.block(run, first) where fence > 0 and not ended;
create index if not exists block_to_collect on headway1.block(run, round, first) where not collected;

-- What a commit left of a block: results, each a line.
create table if not exists headway1.result(
  run bigint not null,
  first bigint not null,
  fence bigint not null,
  part bigint not null,
  bytes bytea not null,
  primary key(run, first, fence, part));

-- `spent`: what it has spent of named quotas since it began: attempts that nothing is known of; then a line for each
-- quota: units, answers, the most that one has cost, its name. `told`: how many times it has said so.
create table if not exists headway1.worker(
  id bigint generated always as identity primary key,
  run bigint not null,
  told bigint not null default 0,
  spent text not null default '0' check (octet_length(spent) <= 65536
    and spent ~ '^\d{1,18}(\n(\d+(\.\d+)?(e[+-]?\d{1,3})? ){3}[^\n]+)*\n?$')) with (fillfactor = 50);
create index if not exists worker_of on headway1.worker(run);

-- How much all workers together may spend of a quota.
create table if not exists headway1.spend_max(
  run bigint not null,
  quota text not null check (quota ~ '^[^\n]{1,64}$'),
  units double precision not null check (units between 0 and 1e18),
  primary key(run, quota));

-- What is acknowledged is on the disk, whatever the database's default is.
create or replace function headway1.queue_durable() returns void language plpgsql
set search_path = headway1, pg_temp as $$
begin
  if current_setting('synchronous_commit') = 'off' then
    perform set_config('synchronous_commit', 'on', true);
  end if;
end $$;

create or replace function headway1.queue_find(_name text)
returns table(id bigint, name text, digest bytea, shape text, options text, lines bigint, uploaded bigint, requests bigint,
  sealed boolean, stopped boolean)
language sql stable security definer set search_path = headway1, pg_temp as $$
  select r.id, r.name, r.digest, r.shape, r.options, r.lines, r.uploaded, r.requests, r.sealed is not null, r.stopped
    from run r where r.name = _name
$$;

-- Upload: blocks come in their order, so what is there is always the beginning of JOBS. It may be all that is wanted for now:
-- then that is sealed, and a later upload goes on behind it.

create or replace function headway1.queue_create(_name text, _digest bytea, _shape text, _options text, _lines bigint)
returns void language sql security definer set search_path = headway1, pg_temp as $$
  insert into run(name, digest, shape, options, lines) values(_name, _digest, _shape, _options, _lines)
    on conflict (name) do nothing
$$;

-- Returns how many lines are there now; null: there is no such run. What is not next is left alone. Durable with the seal.
create or replace function headway1.queue_upload(_run bigint, _first bigint, _n integer, _requests integer, _lines bytea,
  _state bytea, _digests bytea)
returns bigint language plpgsql security definer set search_path = headway1, pg_temp as $$
#variable_conflict use_column
declare
  there bigint;
begin
  select uploaded into there from run where id = _run for update;
  if there <> _first - 1 or not found then
    return there;
  end if;
  perform set_config('synchronous_commit', 'off', true);
  insert into block(run, first, n, left_open, state, lines, digests, ended, collected)
    values(_run, _first, _n, _requests, _state, _lines, _digests, _requests = 0, _requests = 0);
  update run set sealed = null, uploaded = there + _n, requests = requests + _requests, blocks = blocks + 1,
    ended = ended + (_requests = 0)::integer where id = _run;
  return there + _n;
end $$;

create or replace function headway1.queue_seal(_run bigint, _lines bigint)
returns boolean language plpgsql security definer set search_path = headway1, pg_temp as $$
begin
  perform queue_durable();
  update run set sealed = coalesce(sealed, clock_timestamp()) where id = _run and uploaded >= _lines;
  return found;
end $$;

-- The digests of the lines of the block with this line, to say which one is another.
create or replace function headway1.queue_digests(_run bigint, _line bigint)
returns table(first bigint, digests bytea)
language sql stable security definer set search_path = headway1, pg_temp as $$
  select b.first, b.digests from block b where b.run = _run and b.first <= _line order by b.first desc limit 1
$$;

-- Work.

create or replace function headway1.queue_join(_run bigint)
returns bigint language sql security definer set search_path = headway1, pg_temp as $$
  insert into worker(run) values(_run) returning id
$$;

-- What there is to do: 'block', or why there is none: 'wait' (others have it), 'ended', 'parked' (all that is left),
-- 'stopped', 'unsealed', 'gone'. A block that is the worker's, but that it does not hold, is one whose answer was lost.
create or replace function headway1.queue_lease(_run bigint, _worker bigint, _held bigint[], _lease_ms integer)
returns table(what text, first bigint, n integer, fence bigint, state bytea, lines bytea)
language plpgsql security definer set search_path = headway1, pg_temp as $$
#variable_conflict use_column
declare
  r record;
  b record;
  _lease interval := _lease_ms * interval '1 ms';
  at timestamptz := clock_timestamp();
begin
  select sealed, stopped, ended = blocks as all_ended into r from run where id = _run;
  if not found then
    what := 'gone';
  elsif r.sealed is null then
    what := 'unsealed';
  elsif r.all_ended then
    what := 'ended';
  elsif r.stopped then
    what := 'stopped';
  else
    -- `until` further ahead than the lease is of a clock that was set back since. What the worker holds it has, whatever
    -- the clock says: it renews that, or another takes it.
    select k.first, k.owner into b from block k
      where k.run = _run and not k.ended and k.parked is null and k.first <> all(_held)
        and (k.until is null or k.until < at or k.until > at + 2 * k.lease or k.owner = _worker)
      order by k.first limit 1 for no key update skip locked;
    if found then
      perform queue_durable();
      if b.owner <> _worker then
        update run set taken_over = taken_over + 1 where id = _run;
      end if;
      return query update block k
        set fence = k.fence + 1, part = 0, owner = _worker, until = clock_timestamp() + _lease, lease = _lease
        where k.run = _run and k.first = b.first
        returning 'block', k.first, k.n, k.fence, k.state, k.lines;
      return;
    end if;
    what := case  -- of one moment: the last may just have ended
      when exists(select from block k where k.run = _run and not k.ended and k.parked is null) then 'wait'
      when exists(select from block k where k.run = _run and not k.ended) then 'parked'
      else 'ended' end;
  end if;
  return next;
end $$;

-- Commits a group, all of it or, of a block that has another owner by now, nothing. Blocks come in ascending order.
-- `_changes`: of each block, 3 bytes a change: its line there, from 0, in two; its state. `_bytes`: the results. Returns for
-- each block: 'committed'; 'known': it was committed before, by a call whose answer was lost; 'fenced'; 'lost': the database
-- has forgotten commits that it had acknowledged. `_spent`: as the worker's row has it, which counts even if it has lost the blocks; null:
-- as it was.
create or replace function headway1.queue_commit(_run bigint, _firsts bigint[], _fences bigint[], _parts bigint[],
  _changes bytea[], _bytes bytea[], _lease_ms integer, _worker bigint, _told bigint, _spent text)
returns table(first bigint, verdict text)
language plpgsql security definer set search_path = headway1, pg_temp as $$
#variable_conflict use_variable
declare
  b record;
  s bytea;
  c bytea;
  at integer;
  was integer;
  becomes integer;
  flying integer;
  done integer[];
  all_ended integer := 0;
  all_done bigint[] := '{0,0,0}';
  all_bytes bigint := 0;
begin
  perform queue_durable();
  for i in 1..cardinality(_firsts) loop
    first := _firsts[i];
    select k.part, k.state, k.left_open, k.intended, k.success, k.failed, k.unknown, k.bytes into b from block k
      where k.run = _run and k.first = _firsts[i] and k.fence = _fences[i] for no key update;
    if not found then
      verdict := 'fenced';
    elsif b.part = _parts[i] then
      verdict := 'known';
    elsif b.part <> _parts[i] - 1 then
      verdict := 'lost';
    else
      verdict := 'committed';
      s := b.state;
      c := _changes[i];
      done := '{0,0,0}';
      flying := b.intended;
      for j in 0..length(c) / 3 - 1 loop
        at := get_byte(c, 3 * j) * 256 + get_byte(c, 3 * j + 1);
        becomes := get_byte(c, 3 * j + 2);
        was := get_byte(s, at);
        if (was <> 0 and was <> 4) or becomes > 4 then
          raise exception 'line % has ended already', _firsts[i] + at using errcode = 'HW001';
        end if;
        s := set_byte(s, at, becomes);
        flying := flying + (becomes = 4)::integer - (was = 4)::integer;
        if becomes between 1 and 3 then
          done[becomes] := done[becomes] + 1;
        end if;
      end loop;
      at := b.left_open - done[1] - done[2] - done[3];  -- left
      if length(_bytes[i]) > 0 then
        insert into result values(_run, _firsts[i], _fences[i], _parts[i], _bytes[i]);
      end if;
      update block k set state = s, part = _parts[i], left_open = at, intended = flying, bytes = k.bytes + length(_bytes[i]),
          success = k.success + done[1], failed = k.failed + done[2], unknown = k.unknown + done[3],
          until = case when at > 0 then clock_timestamp() + _lease_ms * interval '1 ms' end,
          owner = case when at > 0 then k.owner end, ended = at = 0
        where k.run = _run and k.first = _firsts[i];
      if at = 0 then
        all_ended := all_ended + 1;
        all_done[1] := all_done[1] + b.success + done[1];
        all_done[2] := all_done[2] + b.failed + done[2];
        all_done[3] := all_done[3] + b.unknown + done[3];
        all_bytes := all_bytes + b.bytes + length(_bytes[i]);
      end if;
    end if;
    return next;
  end loop;
  if _spent is not null then
    update worker w set told = _told, spent = _spent where w.id = _worker and w.run = _run and w.told < _told;
  end if;
  if all_ended > 0 then
    update run r set ended = r.ended + all_ended, waiting = r.waiting + all_ended,
        waiting_bytes = r.waiting_bytes + all_bytes,
        success = r.success + all_done[1], failed = r.failed + all_done[2], unknown = r.unknown + all_done[3]
      where r.id = _run;
  end if;
end $$;

-- Renews leases. Returns which blocks are its own still; then a row with first null: whether the
-- run was stopped, or is gone (null).
create or replace function headway1.queue_renew(_run bigint, _firsts bigint[], _fences bigint[], _lease_ms integer)
returns table(first bigint, stopped boolean)
language plpgsql security definer set search_path = headway1, pg_temp as $$
#variable_conflict use_column
begin
  perform set_config('synchronous_commit', 'off', true);
  for i in 1..cardinality(_firsts) loop
    update block k set until = clock_timestamp() + _lease_ms * interval '1 ms'
      where k.run = _run and k.first = _firsts[i] and k.fence = _fences[i] and not k.ended;
    if found then
      first := _firsts[i];
      return next;
    end if;
  end loop;
  first := null;
  stopped := (select r.stopped from run r where r.id = _run);
  return next;
end $$;

-- Spending. A worker may send what it has intended if that fits beside all that is out, as it sees it after its intent is
-- there: of two that intend at once, the later one sees the other.

create or replace function headway1.queue_allow(_run bigint, _quota text, _units double precision)
returns void language plpgsql security definer set search_path = headway1, pg_temp as $$
begin
  perform queue_durable();
  insert into spend_max as m values(_run, _quota, _units) on conflict(run, quota) do update set units = _units;
end $$;

-- What other workers have spent, as their rows have it, where an attempt of a worker that was lost is one that nothing is known
-- of; how many attempts of living ones are out; how much all may spend: a line for each quota, units and name.
create or replace function headway1.queue_spent(_run bigint, _worker bigint)
returns table(others text, flying bigint, most text)
language sql stable security definer set search_path = headway1, pg_temp as $$
  select (coalesce(w.lost, 0) + k.lost) || coalesce(w.costs, ''), k.flying,
      (select coalesce(string_agg(m.units || ' ' || m.quota || E'\n', '' order by m.quota), '')
        from spend_max m where m.run = _run)
    from (select coalesce(sum(k.intended) filter (where k.until >= clock_timestamp()), 0)::bigint as flying,
          coalesce(sum(k.intended) filter (where k.until >= clock_timestamp() is not true), 0)::bigint as lost
        from block k where k.run = _run and k.fence > 0 and not k.ended and k.owner is distinct from _worker) k,
      (select (select sum(split_part(w.spent, E'\n', 1)::bigint) from worker w where w.run = _run and w.id <> _worker) as lost,
          (select string_agg(E'\n' || q.units || ' ' || q.answers || ' ' || q.most || ' ' || q.quota, '')
            from (select c[4] as quota, sum(c[1]::float8) as units, sum(c[2]::float8) as answers, max(c[3]::float8) as most
              from worker w, regexp_matches(w.spent, '^([0-9.e+-]+) ([0-9.e+-]+) ([0-9.e+-]+) (.+)$', 'gn') as c
              where w.run = _run and w.id <> _worker group by c[4]) q) as costs) w
$$;

-- Gives blocks back, at once for others.
create or replace function headway1.queue_release(_run bigint, _firsts bigint[], _fences bigint[])
returns void language sql security definer set search_path = headway1, pg_temp as $$
  update block k set owner = null, until = null
    from unnest(_firsts, _fences) as mine(first, fence)
    where k.run = _run and k.first = mine.first and k.fence = mine.fence
$$;

-- This block is not worked on any longer, until the run is resumed.
create or replace function headway1.queue_park(_run bigint, _first bigint, _fence bigint, _why text)
returns boolean language plpgsql security definer set search_path = headway1, pg_temp as $$
begin
  update block k set owner = null, until = null, parked = left(_why, 1000)
    where k.run = _run and k.first = _first and k.fence = _fence and not k.ended;
  return found;
end $$;

-- Collecting: in the order of round and line, by one file.

-- Returns which file has the results; `_claim`: this one, if there is none.
create or replace function headway1.queue_collector(_run bigint, _collector text, _claim boolean)
returns text language plpgsql security definer set search_path = headway1, pg_temp as $$
#variable_conflict use_column
begin
  perform queue_durable();
  update run set collector = _collector where id = _run and collector is null and _claim;
  return (select collector from run where id = _run);
end $$;

-- The next block to collect after this one: 'block', or 'wait', 'parked', 'ended', 'unsealed', 'gone'.
create or replace function headway1.queue_to_collect(_run bigint, _round integer, _first bigint)
returns table(what text, round integer, first bigint, n integer, why text)
language plpgsql stable security definer set search_path = headway1, pg_temp as $$
#variable_conflict use_column
declare
  r record;
  b record;
begin
  select sealed into r from run where id = _run;
  if not found then
    what := 'gone';
  elsif r.sealed is null then
    what := 'unsealed';
  else
    select k.round, k.first, k.n, k.ended, k.parked into b from block k
      where k.run = _run and not k.collected and (k.round, k.first) > (_round, _first)
      order by k.round, k.first limit 1;
    if not found then
      what := 'ended';
    else
      what := case when b.ended then 'block' when b.parked is null then 'wait' else 'parked' end;
      round := b.round;
      first := b.first;
      n := b.n;
      why := b.parked;
    end if;
  end if;
  return next;
end $$;

-- The parts of a block after this one, about `_bytes` of them, at least one.
create or replace function headway1.queue_parts(_run bigint, _first bigint, _fence bigint, _part bigint, _bytes bigint)
returns table(fence bigint, part bigint, bytes bytea)
language sql stable security definer set search_path = headway1, pg_temp as $$
  select p.fence, p.part, r.bytes
    from (select p.fence, p.part, sum(octet_length(p.bytes)) over (order by p.fence, p.part) - octet_length(p.bytes) as before
            from result p
            where p.run = _run and p.first = _first and (p.fence, p.part) > (_fence, _part)
            order by p.fence, p.part limit 1000) p
      join result r on r.run = _run and r.first = _first and r.fence = p.fence and r.part = p.part
    where p.before < _bytes order by p.fence, p.part
$$;

-- The results of this block, up to this part, are in the file; also if this was said before. Lines that were opened again
-- since they were read are collected in a later round, as is what they have ended with by now. Returns whether it is this
-- file that has the results, null if there is no such run.
create or replace function headway1.queue_collected(_run bigint, _collector text, _round integer, _first bigint,
  _fence bigint, _part bigint)
returns boolean language plpgsql security definer set search_path = headway1, pg_temp as $$
#variable_conflict use_column
declare
  b record;
  rest bigint;
begin
  if not exists(select from run where id = _run and collector = _collector) then
    return (select false from run where id = _run);
  end if;
  select k.ended, k.bytes into b from block k
    where k.run = _run and k.first = _first and k.round = _round and not k.collected for no key update;
  if found then
    delete from result p where p.run = _run and p.first = _first and (p.fence, p.part) <= (_fence, _part);
    rest := (select coalesce(sum(octet_length(p.bytes)), 0) from result p where p.run = _run and p.first = _first);
    if b.ended and rest = 0 then
      update block k set collected = true, bytes = 0 where k.run = _run and k.first = _first;
    else
      update block k set round = (select r.round from run r where r.id = _run), bytes = rest
        where k.run = _run and k.first = _first;
    end if;
    if b.ended then
      update run set waiting = waiting - (rest = 0)::integer, waiting_bytes = waiting_bytes - b.bytes + rest where id = _run;
    end if;
  end if;
  return true;
end $$;

-- People.

-- Begins to open lines again: returns the round that they are collected in, behind the rest; null while workers hold
-- blocks.
create or replace function headway1.queue_next_round(_run bigint)
returns integer language plpgsql security definer set search_path = headway1, pg_temp as $$
#variable_conflict use_column
declare
  next_round integer;
begin
  perform queue_durable();
  if exists(select from block k where k.run = _run and k.fence > 0 and not k.ended and k.until >= clock_timestamp()) then
    return null;
  end if;
  update run set round = round + 1 where id = _run returning round into next_round;
  return next_round;
end $$;

-- Opens lines again that ended in one of `_states`, of some blocks after this one. Returns how many, null where a worker
-- holds one of the blocks; and the last block that it looked at, null if there is none.
create or replace function headway1.queue_reopen(_run bigint, _states bigint[], _round integer, _after bigint)
returns table(opened bigint, last bigint)
language plpgsql security definer set search_path = headway1, pg_temp as $$
#variable_conflict use_column
declare
  b record;
  s bytea;
  these integer[];
  state integer;
  sums bigint[] := '{0,0,0,0,0,0}';
begin
  perform queue_durable();
  opened := 0;
  last := (select max(k.first) from (select k.first from block k where k.run = _run and k.first > _after
    order by k.first limit 100) k);
  for b in select k.first, k.n, k.state, k.success, k.failed, k.unknown, k.ended, k.collected, k.bytes,
        k.until >= clock_timestamp() as held
      from block k
      where k.run = _run and k.first > _after and k.first <= last and ((1 = any(_states) and k.success > 0)
        or (2 = any(_states) and k.failed > 0) or (3 = any(_states) and k.unknown > 0))
      order by k.first for no key update loop
    if b.held then
      opened := null;
      exit;
    end if;
    s := b.state;
    these := '{0,0,0}';
    for i in 0..b.n - 1 loop
      state := get_byte(s, i);
      if state between 1 and 3 and state = any(_states) then
        these[state] := these[state] + 1;
        s := set_byte(s, i, 0);
      end if;
    end loop;
    opened := opened + these[1] + these[2] + these[3];
    if b.ended then
      sums := array[sums[1] + 1, sums[2] + (not b.collected)::integer, sums[3] + b.bytes, sums[4] + b.success,
        sums[5] + b.failed, sums[6] + b.unknown];
    end if;
    update block k set state = s, fence = k.fence + 1, part = 0, ended = false, owner = null, until = null,
        left_open = k.left_open + these[1] + these[2] + these[3], success = k.success - these[1],
        failed = k.failed - these[2], unknown = k.unknown - these[3],
        round = case when b.collected then _round else k.round end, collected = false
      where k.run = _run and k.first = b.first;
  end loop;
  update run set ended = ended - sums[1], waiting = waiting - sums[2], waiting_bytes = waiting_bytes - sums[3],
      success = success - sums[4], failed = failed - sums[5], unknown = unknown - sums[6] where id = _run;
  return next;
end $$;

-- What was parked is worked on again, some blocks at a time; returns whether there may be more.
create or replace function headway1.queue_unpark(_name text)
returns boolean language plpgsql security definer set search_path = headway1, pg_temp as $$
#variable_conflict use_column
declare
  most constant integer := 1000;
  the_run constant bigint := (select r.id from run r where r.name = _name);
  these bigint[];
  freed integer;
begin
  perform queue_durable();
  these := array(select k.first from block k where k.run = the_run and not k.ended and k.parked is not null
    order by k.first limit most for no key update);
  update block set parked = null where run = the_run and first = any(these);
  get diagnostics freed = row_count;
  return freed = most;
end $$;

-- Stops or resumes. Returns whether there is such a run.
create or replace function headway1.queue_stop(_name text, _stopped boolean)
returns boolean language plpgsql security definer set search_path = headway1, pg_temp as $$
begin
  perform queue_durable();
  if not _stopped then
    perform queue_unpark(_name);
  end if;
  update run set stopped = _stopped where name = _name;
  return found;
end $$;

-- There is no such run any longer; queue_sweep() takes away what is left of it. Returns whether there was one.
create or replace function headway1.queue_drop(_name text)
returns boolean language plpgsql security definer set search_path = headway1, pg_temp as $$
begin
  perform queue_durable();
  delete from run where name = _name;
  return found;
end $$;

-- Takes away some of what is left of runs that were dropped; returns whether there may be more.
create or replace function headway1.queue_sweep()
returns boolean language plpgsql security definer set search_path = headway1, pg_temp as $$
#variable_conflict use_column
declare
  the_run bigint := 0;
  these bigint[];
begin
  loop  -- over the runs that have blocks, by the index
    the_run := (select min(k.run) from block k where k.run > the_run);
    exit when the_run is null or not exists(select from run where id = the_run);
  end loop;
  if the_run is null then
    delete from worker w where not exists(select from run r where r.id = w.run);
    delete from spend_max m where not exists(select from run r where r.id = m.run);
    return false;
  end if;
  these := array(select k.first from block k where k.run = the_run order by k.first limit 50 for update);
  delete from block where run = the_run and first = any(these);
  delete from result where run = the_run and first = any(these);  -- after its block: no commit adds any
  return true;
end $$;

-- `_name` null: all runs.
create or replace function headway1.queue_status(_name text)
returns table(id bigint, name text, digest bytea, shape text, options text, lines bigint, uploaded bigint,
  requests bigint, sealed boolean, stopped boolean, success bigint, failed bigint, unknown bigint, in_hand bigint, blocks bigint, ended bigint, waiting bigint,
  waiting_bytes bigint, taken_over bigint, parked bigint, parked_first bigint, parked_why text, collector text)
language sql stable security definer set search_path = headway1, pg_temp as $$
  select r.id, r.name, r.digest, r.shape, r.options, r.lines, r.uploaded, r.requests, r.sealed is not null, r.stopped,
      r.success + b.success, r.failed + b.failed, r.unknown + b.unknown, b.in_hand,
      r.blocks, r.ended, r.waiting, r.waiting_bytes, r.taken_over, b.parked, b.parked_first,
      (select k.parked from block k where k.run = r.id and k.first = b.parked_first), r.collector
    from run r, lateral (
      select coalesce(sum(k.success), 0)::bigint as success, coalesce(sum(k.failed), 0)::bigint as failed,
          coalesce(sum(k.unknown), 0)::bigint as unknown,
          coalesce(sum(k.left_open) filter (where k.until >= clock_timestamp()), 0)::bigint as in_hand,
          count(k.parked) as parked, min(k.first) filter (where k.parked is not null) as parked_first
        from block k where k.run = r.id and k.fence > 0 and not k.ended) b
    where _name is null or r.name = _name order by r.id
$$;
