-- The functions are all that a worker may use.
revoke all on all functions in schema headway1 from public;
do $$
begin
  if to_regrole('headway_worker') is not null then
    grant usage on schema headway1 to headway_worker;
    grant execute on all functions in schema headway1 to headway_worker;
  end if;
end $$;
