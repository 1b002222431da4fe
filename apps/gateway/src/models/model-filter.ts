import { MODEL_WISHES, type ListModelsQueryDto, type ModelOrder } from '@libs/contracts';
import { isInRegion, isNamedIn, parseRate, UNDATED, type Endpoint, type Model, type ModelEntry } from '@libs/inference';

/** A model of the catalogue, and the form in which callers see it. */
export interface ListedModel {
  readonly model: Model;
  readonly entry: ModelEntry;
  /** The entry as JSON. */
  readonly text: string;
}

/** How fast recent calls to a model were; null if none was measured. */
export interface ModelSpeeds {
  tokensPerSecond(model: Model): number | null;
  latencySeconds(model: Model): number | null;
}

type Keeps = (listed: ListedModel) => boolean;
type Compare = (one: ListedModel, other: ListedModel) => number;

const DAY_SECONDS = 86_400;
const TOKENS_PER_PRICE = 1_000_000n;

/** Returns the models that are asked for, in the order asked for; without wishes all, in the catalogue's order. */
export function filterModels(
  all: readonly ListedModel[],
  query: ListModelsQueryDto,
  nowSeconds: number,
  speeds: ModelSpeeds,
): readonly ListedModel[] {
  const filters = filtersOf(query, nowSeconds);
  const kept = filters.length === 0 ? all : all.filter((one) => filters.every((keeps) => keeps(one)));
  const compare = query.sort && orderOf(query.sort, kept, speeds);
  return compare === undefined ? kept : kept.toSorted(compare);
}

/** Returns the filters of a query as a query without other parameters; empty if there are none. */
export function filterParameters(query: ListModelsQueryDto): string {
  const parameters = new URLSearchParams();
  for (const name of MODEL_WISHES) {
    const value = query[name];
    if (value !== undefined) parameters.set(name, value);
  }
  return parameters.toString();
}

function filtersOf(query: ListModelsQueryDto, nowSeconds: number): Keeps[] {
  return [
    filter(query.q?.toLowerCase().split(/\s+/), (words) => (listed) => hasWords(listed, words)),
    filter(
      listOf(query.supported_parameters),
      (wanted) =>
        ({ entry }) =>
          hasAll(entry.supported_parameters, wanted),
    ),
    filter(
      listOf(query.input_modalities),
      (wanted) =>
        ({ entry }) =>
          hasAll(entry.architecture.input_modalities, wanted),
    ),
    filter(
      modalitiesOf(query.output_modalities),
      (wanted) =>
        ({ entry }) =>
          entry.architecture.output_modalities.some((one) => wanted.includes(one)),
    ),
    filter(
      listOf(query.arch),
      (wanted) =>
        ({ entry }) =>
          wanted.includes(entry.architecture.tokenizer.toLowerCase()),
    ),
    filter(
      listOf(query.model_authors),
      (wanted) =>
        ({ model }) =>
          wanted.includes(authorOf(model)),
    ),
    ...endpointFilters(query),
    ...numberFilters(query, nowSeconds),
  ].filter((one) => one !== null);
}

function endpointFilters({ providers, region, zdr }: ListModelsQueryDto): (Keeps | null)[] {
  const some =
    (test: (endpoint: Endpoint) => boolean): Keeps =>
    ({ model }) =>
      model.endpoints.some(test);
  return [
    filter(listOf(providers), (wanted) => some((endpoint) => isNamedIn(endpoint, wanted))),
    filter(region, (wanted) => some((endpoint) => isInRegion(endpoint.region, wanted))),
    filter(zdr, () => some((endpoint) => endpoint.zdr)),
  ];
}

function numberFilters(query: ListModelsQueryDto, nowSeconds: number): (Keeps | null)[] {
  const aged = (test: (seconds: number) => boolean): Keeps => {
    return ({ entry: { created } }) => created !== UNDATED && test(nowSeconds - created);
  };
  return [
    filter(
      query.context,
      (least) =>
        ({ entry }) =>
          (entry.context_length ?? 0) >= Number(least),
    ),
    filter(query.min_age_days, (days) => aged((seconds) => seconds >= Number(days) * DAY_SECONDS)),
    filter(query.max_age_days, (days) => aged((seconds) => seconds <= Number(days) * DAY_SECONDS)),
    filter(query.min_price, (price) => (listed) => promptPrice(listed) >= parseRate(price)),
    filter(query.max_price, (price) => (listed) => promptPrice(listed) <= parseRate(price)),
    filter(query.min_output_price, (price) => (listed) => outputPrice(listed) >= parseRate(price)),
    filter(query.max_output_price, (price) => (listed) => outputPrice(listed) <= parseRate(price)),
  ];
}

function orderOf(sort: ModelOrder, models: readonly ListedModel[], speeds: ModelSpeeds): Compare | undefined {
  switch (sort) {
    case 'throughput-high-to-low':
      return measured(models, ({ model }) => -(speeds.tokensPerSecond(model) ?? 0));
    case 'latency-low-to-high':
      return measured(models, ({ model }) => speeds.latencySeconds(model) ?? UNMEASURED_SECONDS);
    default:
      return ORDERS[sort];
  }
}

/** Sorts unmeasured models last. */
const UNMEASURED_SECONDS = 1e9;

/** Sorts by a number that is read once for each model, because it may change and takes longer than a comparison. */
function measured(models: readonly ListedModel[], valueOf: (listed: ListedModel) => number): Compare {
  const values = new Map(models.map((listed) => [listed, valueOf(listed)]));
  return (one, other) => values.get(one)! - values.get(other)!;
}

const ORDERS: Partial<Record<ModelOrder, Compare>> = {
  newest: (one, other) => other.entry.created - one.entry.created,
  'pricing-low-to-high': (one, other) => byPrice(one, other),
  'pricing-high-to-low': (one, other) => byPrice(other, one),
  'context-high-to-low': (one, other) => (other.entry.context_length ?? 0) - (one.entry.context_length ?? 0),
};

function filter<T>(wanted: T | undefined, make: (wanted: T) => Keeps): Keeps | null {
  return wanted === undefined ? null : make(wanted);
}

function byPrice(one: ListedModel, other: ListedModel): number {
  const difference = promptPrice(one) - promptPrice(other) || outputPrice(one) - outputPrice(other);
  if (difference === 0n) return 0;
  return difference > 0n ? 1 : -1;
}

/** Price of a million tokens. */
const promptPrice = ({ entry }: ListedModel): bigint => parseRate(entry.pricing.prompt) * TOKENS_PER_PRICE;
const outputPrice = ({ entry }: ListedModel): bigint => parseRate(entry.pricing.completion) * TOKENS_PER_PRICE;

function listOf(text: string | undefined): readonly string[] | undefined {
  const names = text?.split(',').map((name) => name.trim().toLowerCase());
  const given = names?.filter((name) => name !== '');
  return given?.length ? given : undefined;
}

function modalitiesOf(text: string | undefined): readonly string[] | undefined {
  const wanted = listOf(text);
  return wanted?.includes('all') ? undefined : wanted;
}

function hasAll(those: readonly string[], wanted: readonly string[]): boolean {
  return wanted.every((one) => those.includes(one));
}

function hasWords({ entry }: ListedModel, words: readonly string[]): boolean {
  const text = `${entry.id} ${entry.name} ${entry.description}`.toLowerCase();
  return words.every((word) => text.includes(word));
}

const authorOf = ({ slug }: Model): string => slug.slice(0, slug.indexOf('/'));
