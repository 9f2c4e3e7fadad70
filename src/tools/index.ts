/** What an agent can do to the world, one file per tool, and the policy that decides whether it may. */
