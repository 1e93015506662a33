"""What is measured on a real engine: step times, runs of workloads, and how both agree with the simulation."""
