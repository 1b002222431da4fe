import { isDeepStrictEqual } from 'node:util';
import { isObject } from '@libs/json';
import { CatalogueError, type CatalogueProblem } from './catalogue-error';
import { type Kind, type Located, type Mapping, readDocument } from './catalogue-document';
import { APIS, type Architecture, type Endpoint, type Model, type Provider } from './catalogue-entries';
import * as kinds from './catalogue-kinds';
import { ENDPOINT_MEMBERS, MODEL_MEMBERS, PROVIDER_MEMBERS } from './catalogue-members';
import { readPrices } from './catalogue-pricing';
import { readModelCard } from './model-card';
import { reportTwins } from './catalogue-twins';

export interface CatalogueFile {
  readonly name: string;
  readonly text: string;
}

export interface ParseOptions {
  /** Allowed values of `protocol`; any word is allowed if they are not given. */
  readonly protocols?: readonly string[];
}

export interface CatalogueEntries {
  readonly providers: readonly Provider[];
  readonly models: readonly Model[];
}

const DEFAULT_MAX_CONCURRENCY = 64;
/** Replaces a provider that no file defines, so that the rest of its endpoint can be checked for problems. */
const UNKNOWN_PROVIDER: Provider = {
  slug: '',
  name: '',
  baseUrl: '',
  protocol: '',
  apiKeyEnv: null,
  headers: {},
  regions: ['global'],
  dataPolicy: { retainsPrompts: true, trainsOnPrompts: true, zdr: false },
  batch: 'none',
  maxConcurrency: 1,
};
const API = kinds.oneOf(APIS);

/** Reads and merges all files. Throws a CatalogueError with every problem of all files. */
export function readCatalogueEntries(files: readonly CatalogueFile[], options: ParseOptions = {}): CatalogueEntries {
  const problems: CatalogueProblem[] = [];
  const documents = files
    .map((file) => readDocument(file.name, file.text, problems)?.mapping(['providers', 'models']) ?? null)
    .filter((document) => document !== null);
  const parser = new Parser(options.protocols);
  for (const document of documents) parser.readProviders(document.member('providers'));
  for (const document of documents) parser.readModels(document.member('models'));
  parser.reportTakenAliases();
  if (problems.length === 0 && parser.models.size === 0) {
    problems.push({ file: files.map(({ name }) => name).join(', '), path: 'models', message: 'must name a model' });
  }
  if (problems.length > 0) throw new CatalogueError(problems);
  return {
    providers: [...parser.providers.values()].map(({ entry }) => entry),
    models: [...parser.models.values()].map(({ entry }) => entry),
  };
}

interface Placed<T> {
  readonly entry: T;
  readonly file: string;
}

class Parser {
  readonly providers = new Map<string, Placed<Provider>>();
  readonly models = new Map<string, Placed<Model>>();
  /** Quota groups by provider and upstream model. */
  readonly #quotaGroups = new Map<string, string | null>();
  readonly #protocol: Kind<string>;
  readonly #aliasLists: { readonly place: Located; readonly slug: string }[] = [];

  constructor(protocols: readonly string[] | undefined) {
    this.#protocol = protocols ? kinds.oneOf(protocols) : kinds.WORD;
  }

  readProviders(list: Located): void {
    for (const place of list.optionalEntries()) {
      const mapping = place.mapping(PROVIDER_MEMBERS);
      if (!mapping) continue;
      const entry = this.#readProvider(mapping);
      const earlier = this.providers.get(entry.slug);
      if (earlier && earlier.file === place.file) mapping.member('slug').report('is the slug of an earlier provider');
      else if (earlier && !isDeepStrictEqual(earlier.entry, entry)) place.report(`differs from ${earlier.file}`);
      else if (!earlier && entry.slug !== '') this.providers.set(entry.slug, { entry, file: place.file });
    }
  }

  /**
   * Reads a model. If it occurs in a further file, its aliases and endpoints are added; other fields there are checked
   * but not used.
   */
  readModels(list: Located): void {
    for (const place of list.optionalEntries()) {
      const mapping = place.mapping(MODEL_MEMBERS);
      if (!mapping) continue;
      const slug = mapping.member('slug').scalar(kinds.MODEL_SLUG);
      const earlier = this.models.get(slug);
      if (earlier?.file === place.file) mapping.member('slug').report('is the slug of an earlier model');
      const entry = this.#readModel(slug, mapping, earlier?.entry);
      if (slug !== '') this.models.set(slug, { entry, file: place.file });
    }
  }

  /** Reports aliases that name more than one model, in any of the files. */
  reportTakenAliases(): void {
    const owners = new Map<string, string>();
    for (const { place, slug } of this.#aliasLists) {
      for (const alias of place.optionalEntries()) {
        const name = String(alias.value);
        const owner = owners.get(name) ?? slug;
        owners.set(name, owner);
        if (this.models.has(name)) alias.report('is the slug of a model');
        else if (owner !== slug) alias.report('is an alias of another model');
      }
    }
  }

  #readProvider(mapping: Mapping): Provider {
    const batchCacheReads = mapping.member('batch_cache_reads').scalar(kinds.BATCH_CACHE_READS, 'half');
    const ownKeyHosts = mapping.member('own_key_hosts').scalars(kinds.HOST_PATTERN, []);
    const policy = mapping.member('data_policy').optionalMapping(['retains_prompts', 'trains_on_prompts', 'zdr']);
    return {
      slug: mapping.member('slug').scalar(kinds.PROVIDER_SLUG),
      name: mapping.member('name').scalar(kinds.NAME),
      baseUrl: mapping.member('base_url').scalar(kinds.WEB_URL).replace(/\/+$/, ''),
      protocol: mapping.member('protocol').scalar(this.#protocol),
      apiKeyEnv: mapping.member('api_key_env').scalar<string, null>(kinds.ENV_NAME, null),
      headers: readHeaders(mapping.member('headers')),
      regions: mapping.member('regions').scalars(kinds.WORD, ['global']),
      dataPolicy: {
        retainsPrompts: policy?.member('retains_prompts').scalar(kinds.FLAG, true) ?? true,
        trainsOnPrompts: policy?.member('trains_on_prompts').scalar(kinds.FLAG, true) ?? true,
        zdr: policy?.member('zdr').scalar(kinds.FLAG, false) ?? false,
      },
      batch: mapping.member('batch').scalar(kinds.BATCH, 'managed'),
      maxConcurrency: mapping.member('max_concurrency').scalar(kinds.POSITIVE, DEFAULT_MAX_CONCURRENCY),
      ...(batchCacheReads !== 'half' && { batchCacheReads }),
      ...(ownKeyHosts.length > 0 && { ownKeyHosts }),
    };
  }

  #readModel(slug: string, mapping: Mapping, earlier: Model | undefined): Model {
    const contextLength = mapping.member('context_length').scalar<number, null>(kinds.POSITIVE, null);
    const supportedParameters = readWords(mapping.member('supported_parameters'));
    const shared = earlier ?? { contextLength, supportedParameters };
    const endpoints = mapping
      .member('endpoints')
      .entries()
      .map((place) => this.#readEndpoint(place, shared))
      .filter((endpoint) => endpoint !== null);
    const all = [...(earlier?.endpoints ?? []), ...endpoints];
    reportTwins(mapping.member('endpoints'), all);
    const aliases = this.#readAliases(slug, mapping.member('aliases'), earlier);
    const entry: Model = {
      slug,
      ...(aliases.length > 0 && { aliases }),
      name: mapping.member('name').scalar(kinds.NAME, earlier?.name),
      description: mapping.member('description').scalar(kinds.PROSE, ''),
      created: mapping.member('created').scalar(kinds.COUNT, 0),
      knowledgeCutoff: mapping.member('knowledge_cutoff').scalar<string, null>(kinds.DAY, null),
      expirationDate: mapping.member('expiration_date').scalar<string, null>(kinds.DAY, null),
      card: readModelCard(mapping.member('listing')),
      contextLength,
      architecture: readArchitecture(mapping.member('architecture'), endpoints),
      supportedParameters,
      endpoints: all,
    };
    return earlier ? { ...earlier, ...(aliases.length > 0 && { aliases }), endpoints: all } : entry;
  }

  #readAliases(slug: string, place: Located, earlier: Model | undefined): readonly string[] {
    this.#aliasLists.push({ place, slug });
    return [...new Set([...(earlier?.aliases ?? []), ...place.scalars(kinds.MODEL_ALIAS, [])])];
  }

  /** Reads an endpoint; `model` holds the defaults for fields that the endpoint leaves out. */
  #readEndpoint(place: Located, model: Pick<Model, 'contextLength' | 'supportedParameters'>): Endpoint | null {
    const mapping = place.mapping(ENDPOINT_MEMBERS);
    if (!mapping) return null;
    const known = this.#readProviderReference(mapping.member('provider'));
    const provider = known ?? UNKNOWN_PROVIDER;
    const apis = mapping.member('apis').scalars(API);
    const capabilities = readCapabilities(mapping.member('capabilities'));
    const { supported_parameters: own } = capabilities;
    const upstreamModel = mapping.member('upstream_model').scalar(kinds.NAME);
    const endpoint: Endpoint = {
      provider,
      upstreamModel,
      quotaGroup: this.#readQuotaGroup(mapping.member('quota_group'), `${provider.slug} ${upstreamModel}`),
      apis,
      ...readPrices(mapping, apis, provider),
      contextLength: mapping.member('context_length').scalar(kinds.POSITIVE, model.contextLength),
      maxCompletionTokens: mapping.member('max_completion_tokens').scalar<number, null>(kinds.POSITIVE, null),
      quantization: mapping.member('quantization').scalar(kinds.WORD, 'unknown'),
      region: mapping.member('region').scalar(kinds.WORD, provider.regions[0]),
      zdr: mapping.member('zdr').scalar(kinds.FLAG, provider.dataPolicy.zdr),
      supportedParameters: Array.isArray(own) ? own.map(String) : model.supportedParameters,
      capabilities,
    };
    return known ? endpoint : null;
  }

  /**
   * Reads the quota group. A provider counts calls by upstream model, so all endpoints with the same upstream model
   * must have the same group.
   */
  #readQuotaGroup(place: Located, model: string): string | null {
    const group = place.scalar<string, null>(kinds.WORD, null);
    const earlier = this.#quotaGroups.get(model);
    this.#quotaGroups.set(model, group);
    if (earlier !== undefined && earlier !== group) {
      place.report('differs from the one of an earlier endpoint with this upstream_model');
    }
    return group;
  }

  #readProviderReference(place: Located): Provider | null {
    const slug = place.scalar(kinds.PROVIDER_SLUG);
    const provider = this.providers.get(slug)?.entry ?? null;
    if (!provider && slug !== '') place.report('is not the slug of a provider');
    return provider;
  }
}

function readCapabilities(place: Located): Readonly<Record<string, unknown>> {
  place.optionalMapping('any');
  return isObject(place.value) ? place.value : {};
}

function readHeaders(place: Located): Record<string, string> {
  const mapping = place.optionalMapping('any');
  const headers: Record<string, string> = {};
  for (const name of mapping?.keys() ?? []) {
    const member = mapping!.member(name);
    if (kinds.HEADER_NAME.test(name)) headers[name] = member.scalar(kinds.HEADER_VALUE);
    else place.report('must have names that are valid header names');
  }
  return headers;
}

function readArchitecture(place: Located, endpoints: readonly Endpoint[]): Architecture {
  const mapping = place.optionalMapping(['input_modalities', 'output_modalities', 'tokenizer', 'instruct_type']);
  const usual = usualModalities(endpoints);
  return {
    inputModalities: mapping?.member('input_modalities').scalars(kinds.WORD, usual.input) ?? usual.input,
    outputModalities: mapping?.member('output_modalities').scalars(kinds.WORD, usual.output) ?? usual.output,
    tokenizer: mapping?.member('tokenizer').scalar(kinds.NAME, 'Other') ?? 'Other',
    instructType: mapping?.member('instruct_type').scalar<string, null>(kinds.WORD, null) ?? null,
  };
}

/** Returns the default modalities of a model whose file names none. */
function usualModalities(endpoints: readonly Endpoint[]): { input: readonly string[]; output: readonly string[] } {
  const speaks = (...apis: string[]) => endpoints.some((endpoint) => endpoint.apis.some((api) => apis.includes(api)));
  if (speaks('chat', 'responses', 'messages')) return { input: ['text'], output: ['text'] };
  if (speaks('embeddings')) return { input: ['text'], output: ['embeddings'] };
  if (speaks('transcription')) return { input: ['audio'], output: ['transcription'] };
  return speaks('video') ? { input: ['text'], output: ['video'] } : { input: ['text'], output: ['text'] };
}

/** A list of words that may be absent or empty. */
function readWords(place: Located): readonly string[] {
  return Array.isArray(place.value) && place.value.length === 0 ? [] : place.scalars(kinds.WORD, []);
}
