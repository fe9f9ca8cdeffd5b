-- The functions are all that a worker may use.
revoke all on all functions in schema headway1 from public;
do $$
begin
  if to_regrole('headway_worker') is not null then
    grant usage on schema headway1 to headway_worker;
    grant execute on all functions in schema headway1 to headway_worker;
  else
    raise warning 'there is no role headway_worker, and % may not make it', current_user using hint =
      'Let a role that may make roles carry this out, or give each role that works its rights: '
      'grant usage on schema headway1 to THE_ROLE; grant execute on all functions in schema headway1 to THE_ROLE;';
  end if;
end $$;
