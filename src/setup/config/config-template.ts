/**
 * The commented configuration that `polypod config init` writes; docs/configuration.md contains it. It has every key. A line
 * with an option begins with `#` and a key, or with `#` and two spaces: without the `#`, it is in force.
 */
export const CONFIG_TEMPLATE = `# The configuration of Polypod. Every key is optional. Remove the # of a line to change a setting.
# Unless a comment says otherwise, the values are the defaults.
# Check the file with: polypod doctor. A running daemon reloads it when it changes.
version: 1

# The model, as account/id. Without it, Polypod selects the first available provider.
#model: anthropic/claude-sonnet-4-5

# The agent that does the work of new sessions: polypod, or another program (docs/backends.md, polypod backends).
#backend: polypod
#backends:                                # how other agents are started (examples)
#  claude:
#    command: [/opt/claude/bin/claude]    # default: the program of this name on PATH
#    trust_project: false                 # true: its configuration in the project applies (hooks, servers, permissions)
#  my-agent:                              # any program that speaks the Agent Client Protocol on stdin and stdout
#    command: [my-agent, --acp]
#    env: { MY_AGENT_HOME: /srv/my-agent }   # variables that are set for it
#    pass_env: [MY_AGENT_KEY]             # variables that it receives although they may hold secrets
#    probe: true                          # false: do not check before the first use that it asks for approval

# Titles of sessions without a name, and how chat and run notify you (docs/chat.md).
#titles: model                            # model: written by a small model; prompt: the first prompt; off: none
#title_model: anthropic/claude-haiku-4-5  # an example; default: a small model of the session's account, if one is known
#notify: { bell: true, title: true, desktop: true }   # the bell, the window title, notifications of the desktop

# Accounts, by name (examples). The name of a known vendor (polypod models) needs only a key; without a key here, its
# environment variable is used.
#accounts:
#  anthropic:
#    key_env: MY_ANTHROPIC_KEY            # the environment variable with the key
#  groq:
#    key_file: ~/.secrets/groq            # or a file with the key
#  lab:                                   # any server with the API of a provider
#    wire: openai-chat                    # anthropic, openai-chat, openai-responses, gemini, ollama or bedrock
#    base_url: http://127.0.0.1:8000/v1
#    key: none                            # or the key itself: then chmod 600 this file
#    headers: { X-Team: red }             # additional headers of every request
#    omit: [stream_options]               # fields that the server does not accept
#  work:
#    vendor: openai                       # a second account of a vendor
#    key_env: WORK_OPENAI_KEY
#  vault:
#    vendor: anthropic
#    key_command: [vault, read, -field=key, secret/llm]   # or a program that prints the key
#    key_expires_after: 5m                # how long a printed key is used
#    query: { team: red }                 # parameters added to every URL
#  bedrock:                               # Amazon Bedrock: credentials of AWS instead of a key
#    region: us-east-1                    # default: AWS_REGION, or the region of the profile
#    profile: work                        # default: AWS_PROFILE, or the environment
#    role_arn: arn:aws:iam::123456789012:role/models   # a role to assume with them
#  home:
#    vendor: anthropic
#    key_keyring: true                    # or the system keyring, where polypod accounts add stored it
#  vertex:                                # Claude and Gemini on Google Cloud, with its credentials (docs/llm.md)
#    project: my-project
#    location: europe-west4               # default: global

# What agents can do without approval (docs/permissions.md).
#permissions:
#  mode: workspace-write                  # read-only, workspace-write or full-access
#  rules:                                 # examples; the default is none. The action is auto, ask or deny
#    - { command: npm test, action: auto }
#    - { command: make, exact: true, action: auto }
#    - { tool: write, path: "generated/**", action: ask }
#    - { tool: web_fetch, host: "*.example.org", action: auto }
#  allow_paths: []                        # additional paths that agents can use
#  private_hosts: []                      # hosts of this machine or of private networks that web_fetch can use
#  pass_env: []                           # environment variables with secrets that commands receive
#  isolate_commands: auto                 # auto, or off: commands outside the sandbox see other processes

# The sandbox of commands (docs/permissions.md).
#sandbox:
#  enabled: false                         # true: for all agents, as with --sandbox
#  read: []                               # additional paths that commands can read
#  hide: []                               # paths that commands cannot see, even in the workspace
#  show: []                               # secret files of the workspace that commands can read
#  tmp_mb: 1024                           # size limit of /tmp and of the home directory, in memory

# The provider of the tool web_search (example). Without it, agents cannot search the web (docs/permissions.md).
#web_search:
#  provider: brave                        # brave, tavily, exa or searxng
#  key_env: BRAVE_API_KEY                 # the environment variable with the key
#  key_file: ~/.secrets/brave             # or a file with the key; key_env takes precedence
#  base_url: https://api.search.brave.com # the address of the server; required for searxng

# Modules with tools and hooks for every session (docs/extensions.md), relative to the directory of this file.
#extensions: []

# MCP servers, by name (examples).
#mcp_servers:
#  files:
#    type: stdio                          # a program; http or sse for a server over HTTP
#    command: mcp-files
#    args: [--read-only]
#    env: { LOG: "1" }
#    cwd: /srv
#    pass_env: [FILES_TOKEN]              # environment variables with secrets that the program receives
#    timeout: 60000                       # milliseconds for one call
#  wiki:
#    url: https://wiki.example/mcp
#    headers: { Authorization: "Bearer TOKEN" }

# Patterns that answers must not contain (example). The model receives the content and answers again.
#stream_rules:
#  - name: no-any
#    condition: [':\\s*any\\b']
#    content: Never write any; say what the type is.

# Which doors polypod serve opens.
#doors: { pod: true, rpc: true, hld: true, acp: true, tasks: false }

# The tasks door: an agent over HTTP (docs/protocols/tasks.md). This section opens it. The values are examples.
#tasks:
#  name: polypod
#  address: 127.0.0.1
#  port: 8000
#  tls: { cert: cert.pem, key: key.pem, client_ca: clients.pem }
#  behind_proxy: false
#  no_auth: false
#  hosts: [agent.example]
#  origins: ["https://ui.example"]
#  directory: .
#  directories: [../other]
#  mode: workspace-write
#  model: anthropic/claude-sonnet-4-5
#  four_eyes: false
#  keys:
#    - { env: CI_API_KEY, owner: ci, scopes: [submit, read] }
#  webhooks:
#    - { url: "https://hooks.example/polypod", secret_env: HOOK_SECRET, allow_private: false }
#    - { url: "https://hooks.example/other", secret_file: hook.secret }
#  limits:
#    pending: 1000
#    streams: 2000
#    requests_per_minute: 1200
#    burst: 200
#    unauthenticated_per_minute: 300
#    handshakes_per_minute: 1200
#    connections: 10000
#    connections_per_address: 2000
#    handshake_timeout: 10s
#    headers_timeout: 10s
#    request_timeout: 30s
#    delegations: 8
#  start: { command: [python3, agent_main.py], url: "http://127.0.0.1:8000" }

# Limits of the daemon, and of one command of an agent (docs/daemon.md).
#limits:
#  pods: 2000                             # pods in memory
#  runs: 200                              # runs at the same time
#  queue: 100                             # queued prompts of a pod
#  watcher: 10000                         # events that a slow client may be behind
#  commands:
#    memory: 16GB                         # of all processes together; default: 80% of the memory; none: no limit
#    processes: 4096
#    file_size: 32GB
#    open_files: 1024                     # default: the limit of the system
#    cpu: 10m                             # of one process; default: no limit
#  background:
#    running: 8                           # background commands of a session at the same time
#    time: 8h                             # how long one may run

# Pods and approvals.
#hibernate_after: 5m                      # unload a pod from memory after this idle time
#durability: full                         # full, relaxed or none: what an accepted command survives
#approvals:
#  deadline: 1h                           # default: approvals wait without a limit
#  fallback: deny                         # the decision after the deadline: deny or pause
#sockets: { allow_agent_processes: false }   # whether agent commands may connect to Polypod's sockets
#shutdown_grace: 10s                      # how long active runs may continue when the daemon stops

# Logs.
#log: { level: info }                     # debug, info, warn or error
#audit: { file_mb: 8, file_days: 30, keep_files: 24 }   # when the audit log rotates, and how many files are kept
`;
