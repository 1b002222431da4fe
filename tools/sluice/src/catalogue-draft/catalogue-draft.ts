import type { Api, Provider } from '@libs/inference';

type BatchSupport = Provider['batch'];

/** Facts about a provider that a command has found, with the names of a catalogue file. */
export interface ProviderDraft {
  readonly slug: string;
  readonly name: string;
  readonly base_url: string;
  readonly protocol: string;
  readonly api_key_env?: string | undefined;
  readonly data_policy?: Readonly<Record<'retains_prompts' | 'trains_on_prompts' | 'zdr', boolean>> | undefined;
  readonly batch?: BatchSupport | undefined;
  readonly batch_cache_reads?: Provider['batchCacheReads'];
  readonly max_concurrency?: number | undefined;
}

export interface EndpointDraft {
  readonly provider: string;
  readonly upstream_model: string;
  readonly apis: readonly Api[];
  readonly pricing: Readonly<Record<string, unknown>>;
  readonly batch_pricing?: Readonly<Record<string, unknown>> | undefined;
  readonly tool_pricing?: Readonly<Record<string, string>> | undefined;
  readonly option_pricing?: Readonly<Record<string, string>> | undefined;
  readonly context_length?: number | undefined;
  readonly max_completion_tokens?: number | undefined;
  readonly quantization?: string | undefined;
  readonly region?: string | undefined;
  readonly zdr?: boolean | undefined;
  readonly capabilities?: Readonly<Record<string, unknown>> | undefined;
}

export interface ModelDraft {
  readonly slug: string;
  readonly aliases?: readonly string[] | undefined;
  readonly name: string;
  readonly created?: number | undefined;
  readonly context_length?: number | undefined;
  readonly architecture?: { readonly input_modalities: readonly string[] } | undefined;
  readonly supported_parameters?: readonly string[] | undefined;
  readonly endpoints: readonly EndpointDraft[];
  /** Lines above the model in the file. */
  readonly remarks?: readonly string[];
}

export interface CatalogueDraft {
  /** Lines at the top of the file. */
  readonly remarks: readonly string[];
  readonly providers: readonly ProviderDraft[];
  readonly models: readonly ModelDraft[];
}
