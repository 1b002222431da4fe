import type {
  AuditPageDto,
  AuthorizationCodeDto,
  CredentialDto,
  CurrentKeyDto,
  IssuerDto,
  KeyDto,
  PolicyDto,
  SigningJwk,
  WorkspaceBudgetDto,
  WorkspaceDto,
  WorkspaceMemberDto,
} from '@libs/contracts';
import type { ModelEntry } from '@libs/inference';

/**
 * Answers of the API. The document is generated from these types and from those that they name. A type with an index
 * signature is one to which a provider or a later version may add fields; the generator sees such a signature only in
 * the type itself, not in one that it extends.
 */

export type AuditAnswer = AuditPageDto;
export interface Deleted {
  deleted: true;
}
export interface KeyAnswer {
  data: KeyDto;
}
export interface KeysAnswer {
  data: KeyDto[];
}
export interface CreatedKeyAnswer {
  data: KeyDto;
  /** The key itself; it cannot be shown again after this answer. */
  key: string;
}
export interface CurrentKeyAnswer {
  data: CurrentKeyDto;
}
export interface WorkspaceAnswer {
  data: WorkspaceDto;
}
export interface WorkspacesAnswer {
  data: WorkspaceDto[];
  total_count: number;
}
export interface WebhookSecretAnswer {
  data: { webhook_secret: string };
}
export interface MembersAnswer {
  data: WorkspaceMemberDto[];
  total_count: number;
}
export interface AddedMembersAnswer {
  data: WorkspaceMemberDto[];
  added_count: number;
}
export interface RemovedMembersAnswer {
  removed_count: number;
}
export interface BudgetAnswer {
  data: WorkspaceBudgetDto;
  /** Applies to all budgets of the workspace. */
  include_byok_in_budgets: boolean;
}
export interface BudgetsAnswer {
  data: WorkspaceBudgetDto[];
  /** Applies to all budgets of the workspace. */
  include_byok_in_budgets: boolean;
}
export interface CredentialAnswer {
  data: CredentialDto;
}
export interface CredentialsAnswer {
  data: CredentialDto[];
  total_count: number;
}
export interface IssuerAnswer {
  data: IssuerDto;
}
export interface IssuersAnswer {
  data: IssuerDto[];
  total_count: number;
}
export interface PolicyAnswer {
  data: PolicyDto;
}
export interface PoliciesAnswer {
  data: PolicyDto[];
  total_count: number;
}
/** US dollars that the organization ever bought, and ever spent. */
export interface CreditsAnswer {
  data: { total_credits: number; total_usage: number };
}
export interface CodeAnswer {
  data: AuthorizationCodeDto;
}
export interface ExchangedKeyAnswer {
  /** The key itself, shown once. */
  key: string;
  user_id: null;
}
export interface TokenAnswer {
  access_token: string;
  /** Seconds. */
  expires_in: number;
  issued_token_type: 'urn:ietf:params:oauth:token-type:access_token';
  scope: 'inference';
  token_type: 'Bearer';
}
export interface JwksAnswer {
  keys: SigningJwk[];
}
export interface AuthorizationServerAnswer {
  issuer: string;
  token_endpoint: string;
  jwks_uri: string;
  authorization_endpoint: string;
  response_types_supported: string[];
  grant_types_supported: string[];
  scopes_supported: string[];
  token_endpoint_auth_methods_supported: string[];
  code_challenge_methods_supported: string[];
}
export interface ModelsAnswer {
  object: 'list';
  data: ModelEntry[];
  /** Relative path of the next page; null on the last one. */
  links: { next: string | null };
  total_count: number;
}
export interface ModelAnswer {
  data: ModelEntry;
}
export interface ModelCountAnswer {
  data: { count: number };
}
export interface EndpointEntry {
  [field: string]: unknown;
  name: string;
  model_id: string;
  provider_name: string;
  tag: string;
  context_length: number;
  /** Decimal strings in US dollars; rates that depend on more are objects. */
  pricing: Record<string, unknown>;
  supported_parameters: readonly string[];
  /** 0: called normally; -1: calls failed recently, other endpoints are tried first; -2: not called at present. */
  status: number;
  /** Percent of calls that were answered, in this gateway process; null if there were none. */
  uptime_last_5m: number | null;
  uptime_last_30m: number | null;
  uptime_last_1d: number | null;
  /** Seconds to the first token that the given percentage of the calls did not exceed. */
  latency_last_30m: Record<'p50' | 'p75' | 'p90' | 'p99', number> | null;
  /** Tokens per second that the given percentage of the calls reached. */
  throughput_last_30m: Record<'p50' | 'p75' | 'p90' | 'p99', number> | null;
}
export interface EndpointsAnswer {
  data: {
    id: string;
    name: string;
    description: string;
    /** Unix seconds. */
    created: number;
    architecture: ModelEntry['architecture'];
    endpoints: EndpointEntry[];
  };
}
export interface ProvidersAnswer {
  data: {
    name: string;
    slug: string;
    privacy_policy_url: null;
    terms_of_service_url: null;
    status_page_url: null;
  }[];
}
export interface VideoModelsAnswer {
  data: { id: string; name: string; created: number; description: string; [field: string]: unknown }[];
}
export interface VideoAnswer {
  id: string;
  status: 'pending' | 'in_progress' | 'completed' | 'failed' | 'cancelled' | 'expired';
  polling_url: string;
  /** Once the job is over. */
  generation_id?: string;
  /** Set for a completed job. `cost` is in US dollars. */
  usage?: { cost: number; is_byok: boolean };
  /** URLs of the finished videos; they require the key that created the job. */
  unsigned_urls?: string[];
  /** Unix seconds. */
  expires_at?: number | null;
  error?: string;
}
export interface GenerationAnswer {
  data: {
    id: string;
    api_type: 'completions' | 'embeddings' | 'stt' | 'video';
    /** The model that served; if none did, or if it is not known yet, the requested one. */
    model: string;
    provider_name: string | null;
    /** Milliseconds from the arrival of the request to the first byte of the answer. */
    latency: number | null;
    /** Milliseconds from the arrival of the request to the end of the answer. */
    generation_time: number | null;
    total_cost: number;
    usage: number;
    [field: string]: unknown;
  };
}
/** The request and the answer of a call, as far as they are stored. */
export interface GenerationContentAnswer {
  data: { input: unknown; output: unknown; error: unknown };
}
export interface BatchResult {
  id: string;
  custom_id: string;
  response: { status_code: number; body: unknown; request_id?: string | null } | null;
  error: { type: string; message: string; [field: string]: unknown } | null;
}
/** Further fields contain metadata that a request header asked for. */
export interface BatchJobAnswer {
  [field: string]: unknown;
  id: string;
  object: 'batch';
  endpoint: string;
  model: string;
  completion_window: string;
  status: 'validating' | 'in_progress' | 'finalizing' | 'completed' | 'failed' | 'expired' | 'cancelling' | 'cancelled';
  /** Unix seconds. */
  created_at: number;
  finalized_at: number | null;
  /** When its window ends, in Unix seconds: requests that have not run by then expire. */
  expires_at: number;
  request_counts: { total: number; completed: number; failed: number };
  usage: Record<string, unknown> | null;
  error: { message: string } | null;
  /** One result for each request, once the batch is over; null before that, and with `results=false`. */
  results: BatchResult[] | null;
}
export interface BatchesAnswer {
  object: 'list';
  data: BatchJobAnswer[];
  first_id: string | null;
  last_id: string | null;
  has_more: boolean;
}
export interface BatchDeletedAnswer {
  id: string;
  object: 'batch';
  deletion: Record<string, unknown>;
}
/** The provider's answer with fields of the gateway; fields that are not listed here may be present. */
export interface ChatCompletionAnswer {
  [field: string]: unknown;
  id: string;
  object: 'chat.completion';
  created: number;
  model: string;
  choices: Record<string, unknown>[];
  /** Tokens, and `cost` in US dollars. */
  usage?: Record<string, unknown> | null;
}
/** The provider's answer with fields of the gateway; fields that are not listed here may be present. */
export interface ResponseAnswer {
  [field: string]: unknown;
  id: string;
  object: 'response';
  status?: string;
  output: Record<string, unknown>[];
}
/** The provider's answer with fields of the gateway; fields that are not listed here may be present. */
export interface MessageAnswer {
  [field: string]: unknown;
  id: string;
  type: 'message';
  role: 'assistant';
  content: Record<string, unknown>[];
  model: string;
}
export interface TokenCountAnswer {
  [field: string]: unknown;
  input_tokens: number;
}
export interface EmbeddingsAnswer {
  [field: string]: unknown;
  object: 'list';
  data: { object: 'embedding'; embedding: number[] | string; index: number; [field: string]: unknown }[];
  model: string;
}
export interface TranscriptAnswer {
  [field: string]: unknown;
  text: string;
}
/** The whole of this document. */
export interface DocumentAnswer {
  [field: string]: unknown;
}
