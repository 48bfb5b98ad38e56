-- job_submit.lua, written by rheostat site install (mode @MODE@).
--   record   writes to slurmctld's log what it would have advised; changes no job
--   suggest  the same; cli_filter.lua prints it to who submits
--   set      gives the job the advised number of nodes, and says so; --comment=rheostat=off leaves a job alone
--   trial    does so to a share of the jobs, drawn by a hash, and notes of all of them which it was (AdminComment)
-- To take it out: rheostat site uninstall --etc @ETC@
local ADVICE = "@ADVICE@"
local MODE = "@MODE@"
local SHARE = @SHARE@  -- of a trial
local SUBMITTED = 0
local MOST_NODES = 1000000  -- Slurm writes "not given" as a larger number

@LOOKUP@
-- A number from 0 to below 1 that nobody chooses: a hash of who, what, when and how many came before. The rounds turn
-- the bits by 13 and multiply; with fewer of them, jobs that follow one another are drawn alike.
local function drawn(job, uid)
  SUBMITTED = SUBMITTED + 1
  local key = table.concat({ tostring(uid), tostring(job.name), tostring(os.time()), tostring(SUBMITTED) }, "\31")
  local hash = 5381
  for i = 1, #key do hash = (hash * 33 + key:byte(i)) % 4294967296 end
  for _ = 1, 12 do
    hash = (math.floor(hash / 8192) + hash % 8192 * 524288) % 4294967296
    hash = hash * 1664525 % 4294967296  -- below 2^53: exact in any Lua
  end
  return hash / 4294967296
end

-- Slurm's accounting keeps the note, and with it the nodes that were asked for.
local function noted(job, uid, nodes)
  local arm = drawn(job, uid) < SHARE and "advised" or "asked"
  local note = string.format("rheostat trial=%s nodes=%d", arm, nodes)
  local before = job.admin_comment
  job.admin_comment = before and before ~= "" and before .. " " .. note or note
  return arm
end

local function advise(job, uid)
  local nodes = job.min_nodes
  if not nodes or nodes < 1 or nodes > MOST_NODES or job.array_inx then return end
  if job.max_nodes and job.max_nodes <= MOST_NODES and job.max_nodes ~= nodes then return end
  if tostring(job.comment or ""):find("rheostat=off", 1, true) then return end
  local advice = rheostat_advice(ADVICE, job.user_name, job.name, job.partition, string.format("%d", nodes))
  if not advice then return end
  slurm.log_info("%s", string.format("rheostat: uid=%d name=%s nodes=%d advised=%d mode=%s", uid,
    (tostring(job.name):gsub("%c", "?")), nodes, advice.nodes, MODE))
  if (MODE ~= "set" and MODE ~= "trial") or advice.nodes == nodes then return end
  if (job.num_tasks or 0) > 1 and job.num_tasks <= MOST_NODES * 1000 then return end  -- tasks would not fit as asked
  if MODE == "trial" and noted(job, uid, nodes) == "asked" then return end
  local cores = job.min_cpus  -- sbatch -N 4 -c 16 asks for 64 in all, which two nodes would have to hold
  if cores and cores >= nodes and cores <= MOST_NODES * 1000 then
    job.min_cpus = math.ceil(cores * advice.nodes / nodes)
  end
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
