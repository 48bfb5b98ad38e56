-- cli_filter.lua, written by rheostat site install (mode @MODE@): prints advice to who submits; changes no job.
-- To take it out: rheostat site uninstall --etc @ETC@
local ADVICE = "@ADVICE@"
local MODE = "@MODE@"

@LOOKUP@
local function advise(options)
  if MODE ~= "suggest" then return end
  local nodes = tostring(options["nodes"] or ""):match("^(%d+)")
  local advice = rheostat_advice(ADVICE, os.getenv("USER"), options["job-name"], options["partition"], nodes)
  if advice and advice.words ~= "" then slurm.log_info("%s", "rheostat: " .. advice.words) end
end

function slurm_cli_setup_defaults(options, early_pass) return slurm.SUCCESS end

function slurm_cli_pre_submit(options, pack_offset)
  pcall(advise, options)  -- whatever happens, the job passes
  return slurm.SUCCESS
end

function slurm_cli_post_submit(pack_offset, job_id, step_id) return slurm.SUCCESS end
