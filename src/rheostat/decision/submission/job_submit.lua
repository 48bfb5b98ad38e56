-- job_submit.lua, written by rheostat site install (mode @MODE@).
--   record   writes to slurmctld's log what it would have advised; changes no job
--   suggest  the same; cli_filter.lua prints it to who submits
--   set      gives the job the advised number of nodes, and says so; --comment=rheostat=off leaves a job alone
-- To take it out: rheostat site uninstall --etc @ETC@
local ADVICE = "@ADVICE@"
local MODE = "@MODE@"
local MOST_NODES = 1000000  -- Slurm writes "not given" as a larger number

@LOOKUP@
local function advise(job, uid)
  local nodes = job.min_nodes
  if not nodes or nodes < 1 or nodes > MOST_NODES or job.array_inx then return end
  if job.max_nodes and job.max_nodes <= MOST_NODES and job.max_nodes ~= nodes then return end
  if tostring(job.comment or ""):find("rheostat=off", 1, true) then return end
  local advice = rheostat_advice(ADVICE, job.user_name, job.name, job.partition, string.format("%d", nodes))
  if not advice then return end
  slurm.log_info("%s", string.format("rheostat: uid=%d name=%s nodes=%d advised=%d mode=%s", uid,
    (tostring(job.name):gsub("%c", "?")), nodes, advice.nodes, MODE))
  if MODE ~= "set" or advice.nodes == nodes then return end
  if (job.num_tasks or 0) > 1 and job.num_tasks <= MOST_NODES * 1000 then return end  -- tasks would not fit as asked
  job.min_nodes = advice.nodes
  job.max_nodes = advice.nodes
  slurm.log_user("%s", "rheostat: " .. advice.words .. "; done (--comment=rheostat=off leaves it)")
end

function slurm_job_submit(job, partitions, uid)
  pcall(advise, job, uid)  -- whatever happens, the job passes
  return slurm.SUCCESS
end

function slurm_job_modify(job, record, partitions, uid) return slurm.SUCCESS end

return slurm.SUCCESS
