"""Logs of jobs as sites publish and keep them, and what is looked at in every one."""
