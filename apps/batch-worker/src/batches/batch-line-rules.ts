import { isDeepStrictEqual } from 'node:util';
import { countEmbeddingsInputs, findBodyLinkProblem, shownType } from '@libs/contracts';
import {
  accountReferenceIn,
  type Api,
  APIS,
  type BatchRules,
  bringsTools,
  countsUses,
  dearerSetting,
  findMedia,
  isConversationApi,
  type ProviderTool,
  toolSentAs,
} from '@libs/inference';

type JsonObject = Readonly<Record<string, unknown>>;

/** Facts about a batch that are needed to validate its lines. */
export interface BatchRoute {
  readonly api: Api;
  /** Requirements of the batch's provider. */
  readonly rules: BatchRules;
  /** True if the provider has the API of the lines itself, so unknown fields are passed to it. */
  readonly isNative: boolean;
  /** The `<service>` name of the API: prefix of the tools that the gateway runs. */
  readonly serviceName: string;
  /** Whether a tool that the provider runs may be used: its uses can be charged, or the caller pays the provider. */
  readonly allowsTool: (tool: ProviderTool) => boolean;
  /** True if the caller's own credential is used, so names in the provider's account are the caller's. */
  readonly isOwnKey: boolean;
}

type Rule = (body: JsonObject, route: BatchRoute) => string | null;

const OWN_ENGINES = new Set<unknown>([undefined, null, 'auto', 'native']);
/** Tools that a provider runs only if a request header asks for them; a batch line has no headers. */
const BETA_TOOLS: Readonly<Partial<Record<Api, RegExp>>> = {
  messages: /^(advisor|computer|code_execution|mcp_toolset)/,
};
const BATCH_TIERS = new Set<unknown>(['auto', 'default', 'standard_only']);

const CONVERSATION: readonly Rule[] = [
  absent('plugins', isInForce, 'run in the gateway, which does not handle the lines of a batch'),
  absent('models', isNamed, 'cannot be used: a batch runs on one endpoint'),
  absent('provider', isNamed, 'cannot be used: a batch runs on one endpoint'),
  absent('speed', isGiven, 'cannot be used in a batch'),
  absent('service_tier', isTier, 'must be "auto" or "default": a batch has no other tier'),
  absent('image_config', isGiven, 'cannot be used: a batch carries text only'),
  absent('audio', isGiven, 'cannot be used: a batch carries text only'),
  absent('modalities', asksForMore, 'may only hold "text" in a batch'),
  findToolProblem,
  findMediaProblem,
];

const RULES: Readonly<Partial<Record<Api, readonly Rule[]>>> = {
  chat: [
    ...CONVERSATION,
    // It makes an answer faster and more expensive, and batches do not reserve for it.
    absent('prediction', isGiven, 'cannot be used in a batch'),
    absent('mcp_servers', isGiven, 'cannot be used in a batch'),
    findSearchOptionsProblem,
  ],
  responses: [...CONVERSATION, findPromptProblem],
  messages: [
    ...CONVERSATION,
    absent('fallbacks', isNamed, 'cannot be used: a batch runs on one endpoint'),
    ...['context_management', 'mcp_servers', 'container', 'betas'].map((name) =>
      absent(name, isGiven, 'cannot be used in a batch'),
    ),
    ({ output_config: config }) =>
      isObject(config) && isGiven(config.task_budget) ? 'output_config.task_budget cannot be used in a batch' : null,
  ],
  embeddings: [
    absent('input_type', isGiven, 'cannot be used in a batch'),
    absent('provider', isGiven, 'cannot be used in a batch'),
    absent('input', holdsMedia, 'may only hold text or tokens in a batch'),
  ],
};

/**
 * Finds valid request bodies that cannot run in a batch: they ask for something that only the gateway does, name more
 * than one endpoint, or carry more than text. Checks the lines of one batch in order, because some providers require
 * lines to be alike.
 */
export class BatchLineRules {
  /** Number of inputs that each checked line embeds; empty for other APIs. */
  readonly embedded: number[] = [];
  private firstFormat: { readonly value: unknown } | null = null;

  constructor(private readonly route: BatchRoute) {}

  /** Returns what is wrong with a link of a line, or null. Must be called before any other check of its links. */
  static findLinkProblem(body: JsonObject): string | null {
    const link = findBodyLinkProblem(body);
    return link === null ? null : `${link.path}${link.what}`;
  }

  /** Returns the invalid field and what is wrong with it, or null. Does not check links. */
  findProblem(body: JsonObject): string | null {
    for (const rule of RULES[this.route.api] ?? []) {
      const problem = rule(body, this.route);
      if (problem !== null) return problem;
    }
    const reference = this.route.isOwnKey ? null : accountReferenceIn(body);
    if (reference !== null) {
      return `${reference} names something in the account of the provider, which needs a provider key of your own`;
    }
    if (!isConversationApi(this.route.api)) this.embedded.push(countEmbeddingsInputs(body.input as string | unknown[]));
    return this.findFormatProblem(demandOf(body.response_format));
  }

  private findFormatProblem(format: unknown): string | null {
    if (!this.route.rules.takesOneFormat) return null;
    this.firstFormat ??= { value: format };
    if (isDeepStrictEqual(this.firstFormat.value, format)) return null;
    return 'response_format differs from that of the lines before, and this provider takes one for all of a batch';
  }
}

/**
 * Returns what a response format demands of the provider: without the schema's name, and nothing for text, the default.
 */
function demandOf(format: unknown): unknown {
  if (!isObject(format) || format.type === 'text') return null;
  const { type, json_schema: named } = format;
  return type === 'json_schema' && isObject(named) ? { type, schema: named.schema ?? null } : format;
}

function absent(name: string, isThere: (value: unknown) => boolean, problem: string): Rule {
  return (body) => (isThere(body[name]) ? `${name} ${problem}` : null);
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function isNamed(value: unknown): boolean {
  return isGiven(value) && Object.keys(value as object).length > 0;
}

function isInForce(plugins: unknown): boolean {
  return Array.isArray(plugins) && plugins.some((plugin) => !isObject(plugin) || plugin.enabled !== false);
}

/** Returns whether a tier with separate prices is requested. */
function isTier(tier: unknown): boolean {
  return isGiven(tier) && !BATCH_TIERS.has(tier);
}

function asksForMore(modalities: unknown): boolean {
  return Array.isArray(modalities) && modalities.some((modality) => modality !== 'text');
}

function holdsMedia(input: unknown): boolean {
  return Array.isArray(input) && input.some(isObject);
}

function findSearchOptionsProblem(body: JsonObject, route: BatchRoute): string | null {
  if (!isGiven(body.web_search_options)) return null;
  if (!route.isNative || !route.rules.takesSearchOptions) {
    return 'web_search_options cannot be used: the provider of this batch does not search';
  }
  const problem = problemOfUse('web_search', route);
  return problem === null ? null : `web_search_options ${problem}`;
}

function findToolProblem({ tools, input }: JsonObject, route: BatchRoute): string | null {
  const problem = findProblemIn(tools, 'tools', route);
  if (problem !== null || !Array.isArray(input)) return problem;
  for (const [index, item] of input.entries()) {
    const later = bringsTools(item) ? findProblemIn(item['tools'], `input[${index}].tools`, route) : null;
    if (later !== null) return later;
  }
  return null;
}

function findProblemIn(tools: unknown, path: string, route: BatchRoute): string | null {
  if (!Array.isArray(tools)) return null;
  for (const [index, tool] of tools.entries()) {
    const problem = isObject(tool) ? problemOfTool(tool, route) : null;
    if (problem !== null) return `${path}[${index}]${problem}`;
  }
  return null;
}

/** Returns what is wrong with a tool, starting with the separator after the tool's path, or null. */
function problemOfTool(entry: JsonObject, route: BatchRoute): string | null {
  const { type } = entry;
  const tool = typeof type === 'string' ? toolSentAs(type) : null;
  const problem = problemOfType(entry, route) ?? (tool === null ? null : problemOfUse(tool, route));
  if (problem !== null) return `${typeNote(type)} ${problem}`;
  const dearer = tool === null || route.isOwnKey ? null : dearerSetting(tool, entry);
  return dearer && `.${dearer} costs more than the price of the tool: it needs a provider key of your own`;
}

function typeNote(type: unknown): string {
  const shown = shownType(type);
  return shown === null ? '' : ` (${shown})`;
}

function problemOfType({ type, engine }: JsonObject, { serviceName, isNative, api }: BatchRoute): string | null {
  if (typeof type !== 'string' || isRunByCaller(api, type)) return null;
  const isOurs = type.startsWith(`${serviceName}:`) || !OWN_ENGINES.has(engine);
  if (isOurs) return 'is run by the gateway, which does not handle the lines of a batch';
  if (BETA_TOOLS[api]?.test(type)) return 'cannot be used in a batch';
  return isNative ? null : 'is no function, and the provider of this batch runs no other tools';
}

function isRunByCaller(api: Api, type: string): boolean {
  return isConversationApi(api) && APIS[api].tools.callerTypes.has(type);
}

function problemOfUse(tool: ProviderTool, { api, allowsTool }: BatchRoute): string | null {
  if (allowsTool(tool)) return null;
  const why = countsUses(api, tool) ? 'has no price here' : 'cannot be charged: no answer counts its uses';
  return `${why}: it needs a provider key of your own`;
}

/** A translation cannot carry a stored prompt, so the answer would not be one to the caller's question. */
function findPromptProblem({ prompt }: JsonObject, { isNative }: BatchRoute): string | null {
  return isGiven(prompt) && !isNative
    ? 'prompt cannot be used: the provider of this batch does not have this API'
    : null;
}

function findMediaProblem(body: JsonObject): string | null {
  const media = findMedia(body);
  return media === null ? null : `${media} holds more than text, which a batch cannot carry`;
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
