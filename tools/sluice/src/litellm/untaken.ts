/** Why something of a LiteLLM configuration has no counterpart in a catalogue, by its name there. */
const REASONS: Readonly<Record<string, string>> = {
  // Settings of a deployment.
  rpm: 'rpm is not converted: Sluice slows down and rests at a provider that answers 429, and limits callers by key (docs/limits.md)',
  tpm: 'tpm is not converted: Sluice slows down and rests at a provider that answers 429, and limits callers by key (docs/limits.md)',
  max_parallel_requests: 'max_parallel_requests is not converted: write max_concurrency of the provider',
  api_version: 'api_version is not converted: calls go to the API of Azure that has no versions',
  organization: 'organization is not converted: write headers: { OpenAI-Organization: … } of the provider',
  extra_headers: 'extra_headers are not converted, because they may hold keys: write headers of the provider',
  weight:
    'weight is not converted: Sluice orders providers by price, or as provider.order and provider.sort of a request say',
  order:
    'order is not converted: Sluice orders providers by price, or as provider.order and provider.sort of a request say',
  litellm_credential_name: 'litellm_credential_name is not followed: write api_key_env of the provider',
  tags: 'tags are not converted: give teams workspaces with policies (docs/accounts.md)',
  // Settings of the sections.
  fallbacks: 'fallbacks between models are not converted: callers name them in models of a request',
  default_fallbacks: 'fallbacks between models are not converted: callers name them in models of a request',
  context_window_fallbacks: 'fallbacks between models are not converted: callers name them in models of a request',
  content_policy_fallbacks: 'fallbacks between models are not converted: callers name them in models of a request',
  routing_strategy:
    'the strategy is not converted: Sluice orders providers by price and health, or as provider.sort of a request says',
  master_key: 'master_key is not converted: make a management key with sluice keys create --management',
  database_url:
    'it is not converted: the keys and teams of LiteLLM are in its database; make workspaces and keys (docs/accounts.md)',
  store_model_in_db: 'models in the database of LiteLLM are not read: export them to model_list',
  cache: 'answers are not cached',
  cache_params: 'answers are not cached',
  callbacks: 'callbacks have no counterpart: Sluice sends traces and metrics (docs/operations.md)',
  success_callback: 'callbacks have no counterpart: Sluice sends traces and metrics (docs/operations.md)',
  failure_callback: 'callbacks have no counterpart: Sluice sends traces and metrics (docs/operations.md)',
  guardrails: 'guardrails have no counterpart here: see plugins of a request (docs/plugins.md)',
  environment_variables: 'the variables are not converted, because they may be keys: put them into .env',
  include: 'included files are not read: import each of them, or put them into one',
  mcp_servers: 'MCP servers have no counterpart',
  drop_params: 'it needs no counterpart: Sluice leaves out what a provider does not take and reports it',
};

const RETRIES = 'retries and timeouts are not converted: Sluice retries at the next provider by itself';
const DEFAULTS = 'defaults of requests are not converted: callers send them';

const GROUPS: readonly (readonly [RegExp, string])[] = [
  [/retr(?:y|ies)|timeout|cooldown|allowed_fails/, RETRIES],
  [
    /^(?:temperature|top_p|top_k|max_tokens|max_completion_tokens|stop|seed|stream|thinking|reasoning_effort)$/,
    DEFAULTS,
  ],
  [/_callbacks?$/, 'callbacks have no counterpart: Sluice sends traces and metrics (docs/operations.md)'],
  [/_cost_|_cost$|pricing/, 'this price is not converted: write what it means into pricing of the endpoint'],
  [/budget/, 'budgets are not converted: set them on workspaces and keys (docs/accounts.md)'],
  [/^redis_/, 'it is not converted: Sluice has settings of its own for Redis (docs/operations.md)'],
];

export function reasonFor(name: string): string {
  if (Object.hasOwn(REASONS, name)) return REASONS[name]!;
  return GROUPS.find(([pattern]) => pattern.test(name))?.[1] ?? 'it has no counterpart that this command knows';
}
