import type { Catalogue } from '@libs/inference';
import { isObject, objectOf, stringOf, type JsonObject } from '@libs/json';
import type { CatalogueDraft, EndpointDraft, ModelDraft } from '../catalogue-draft/catalogue-draft';
import { Slugs } from '../catalogue-draft/slugs';
import { apisOf, readDeployment, type Deployment } from './deployment';
import { ImportNotes } from './import-notes';
import { endpointFacts, KnownEndpoints, modelFacts, type KnownEndpoint } from './known-endpoints';
import type { LitellmConfig } from './litellm-config';
import { neededPrices, statedPrices } from './litellm-prices';
import { ProviderPlaces } from './provider-places';
import { reasonFor } from './untaken';

const SLUG = /^[A-Za-z0-9][\w.-]*(\/[A-Za-z0-9][\w.-]*)+$/;
const ALIAS = /^[A-Za-z0-9][\w.-]*(:(?!batch$)[a-z0-9-]+)?$/;

export interface ImportedCatalogue {
  readonly draft: CatalogueDraft;
  /** What could not be converted, one line each. */
  readonly notes: readonly string[];
}

interface Surroundings {
  /** The catalogue in use, for facts that LiteLLM's file does not contain; null if it cannot be read. */
  readonly catalogue: Catalogue | null;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** Makes a catalogue of the models of a LiteLLM proxy. */
export function draftLitellm(config: LitellmConfig, { catalogue, environment }: Surroundings): ImportedCatalogue {
  const notes = new ImportNotes();
  const known = new KnownEndpoints(catalogue);
  const places = new ProviderPlaces(environment, known, notes);
  const deployments = config.deployments
    .map((entry, index) => readDeployment(entry, `model_list[${index}]`, notes))
    .filter((deployment) => deployment !== null);
  for (const deployment of deployments) places.reserve(deployment);
  const groups = new Groups(notes);
  for (const deployment of deployments) {
    const placed = place(deployment, places, known, notes);
    if (placed) groups.add(placed);
  }
  const aliases = groupAliases(config.sections, groups.byName, notes);
  const models = toModels(groups.byName, aliases, notes);
  noteSections(config.sections, notes);
  noteTakenNames(models, catalogue, notes);
  return { draft: { remarks: remarksOf(notes.lines), providers: places.drafts, models }, notes: notes.lines };
}

interface PlacedEndpoint {
  readonly deployment: Deployment;
  readonly endpoint: EndpointDraft;
  readonly known: KnownEndpoint | null;
}

function place(
  deployment: Deployment,
  places: ProviderPlaces,
  all: KnownEndpoints,
  notes: ImportNotes,
): PlacedEndpoint | null {
  const provider = places.of(deployment);
  if (provider === null) return null;
  const { upstreamModel, contextLength, maxCompletionTokens } = deployment;
  const known = all.of(deployment, provider.base_url);
  const facts = known ? endpointFacts(known) : { apis: apisOf(deployment) };
  const endpoint = {
    provider: provider.slug,
    upstream_model: upstreamModel,
    ...facts,
    ...pricesOf(deployment, facts, notes),
    ...(contextLength !== undefined && { context_length: contextLength }),
    ...(maxCompletionTokens !== undefined && { max_completion_tokens: maxCompletionTokens }),
  };
  return { deployment, endpoint, known };
}

type Prices = Pick<EndpointDraft, 'batch_pricing' | 'pricing'>;

/**
 * Returns the prices of the file. Missing required ones are taken from the catalogue in use, or are free, with a note.
 */
function pricesOf(
  { params, info, place: where }: Deployment,
  { apis, pricing: inUse, batch_pricing: batch }: Pick<EndpointDraft, 'apis'> & Partial<Prices>,
  notes: ImportNotes,
): Prices {
  const { pricing, unreadable } = statedPrices([params, info]);
  for (const member of unreadable) notes.add(`${where} ${member}`, 'it is no price');
  const isPriced = Object.keys(pricing).length > 0;
  if (!isPriced && inUse !== undefined) return { pricing: inUse, batch_pricing: batch };
  const missing = neededPrices(apis).filter((name) => !Object.hasOwn(pricing, name));
  const free = missing.filter((name) => inUse?.[name] === undefined);
  if (!isPriced) notes.add(where, NO_PRICE);
  else if (free.length > 0) notes.add(where, `it has no price for ${free.join(', ')}: ${FREE}`);
  const taken = missing.filter((name) => !free.includes(name));
  if (taken.length > 0) notes.add(where, `its price for ${taken.join(', ')} is that of the catalogue in use`);
  const filled = Object.fromEntries(missing.map((name) => [name, inUse?.[name] ?? '0']));
  // Prices of batches are derived from those of the file.
  return { pricing: { ...filled, ...pricing }, batch_pricing: undefined };
}

const NO_PRICE = 'it has no price, and calls are free until you write one: pricing of its endpoint';
const FREE = 'that is free until you write one into pricing of its endpoint';

/**
 * Groups the endpoints of a model. Deployments that differ only in settings which a catalogue does not have become one
 * endpoint.
 */
class Groups {
  readonly byName = new Map<string, PlacedEndpoint[]>();
  readonly #seen = new Set<string>();

  constructor(private readonly notes: ImportNotes) {}

  add(placed: PlacedEndpoint): void {
    const { modelName, place: where } = placed.deployment;
    const { provider, upstream_model: upstream } = placed.endpoint;
    const key = JSON.stringify([modelName, provider, upstream]);
    if (this.#seen.has(key)) {
      this.notes.add(where, 'skipped: an earlier one has the same model, place and key');
      return;
    }
    this.#seen.add(key);
    const group = this.byName.get(modelName);
    if (group) group.push(placed);
    else this.byName.set(modelName, [placed]);
  }
}

function toModels(
  groups: ReadonlyMap<string, readonly PlacedEndpoint[]>,
  more: ReadonlyMap<string, readonly string[]>,
  notes: ImportNotes,
): readonly ModelDraft[] {
  const slugs = new Slugs();
  const named = [...groups].map(([name, group]) => ({ name, group, isSlug: SLUG.test(name) }));
  // Names that are slugs are assigned first, so that no other model gets one of them.
  const ordered = [...named.filter(({ isSlug }) => isSlug), ...named.filter(({ isSlug }) => !isSlug)];
  return ordered.map(({ name, group, isSlug }) => {
    const [{ deployment, endpoint, known }] = group as [PlacedEndpoint, ...PlacedEndpoint[]];
    const slug = isSlug ? slugs.exactly(name) : slugs.model(vendorOf(endpoint), name);
    const isAlias = !isSlug && ALIAS.test(name);
    if (!isSlug && !isAlias) {
      notes.add(deployment.place, `its model_name is no name that a catalogue takes: callers say ${slug}`);
    }
    const aliases = [...(isAlias ? [name] : []), ...(more.get(name) ?? [])];
    return {
      slug,
      ...(aliases.length > 0 && { aliases }),
      name,
      ...(known && modelFacts(known)),
      ...longestContext(group),
      endpoints: group.map(({ endpoint }) => endpoint),
    };
  });
}

/** Returns the slug of an endpoint's provider without the number that distinguishes its keys. */
function vendorOf({ provider }: EndpointDraft): string {
  return provider.replace(/-\d+$/, '');
}

function longestContext(group: readonly PlacedEndpoint[]): Pick<ModelDraft, 'context_length'> {
  const lengths = group.map(({ endpoint }) => endpoint.context_length ?? 0);
  const longest = Math.max(...lengths);
  return longest > 0 ? { context_length: longest } : {};
}

/** `model_group_alias` of the router: further names of a model. */
function groupAliases(
  sections: JsonObject,
  groups: ReadonlyMap<string, unknown>,
  notes: ImportNotes,
): ReadonlyMap<string, readonly string[]> {
  const aliases = new Map<string, string[]>();
  for (const [alias, value] of Object.entries(objectOf(objectOf(sections['router_settings'])['model_group_alias']))) {
    const target = stringOf(value) ?? stringOf(objectOf(value)['model']) ?? '';
    const group = groups.has(target) && !groups.has(alias) && ALIAS.test(alias) ? target : null;
    if (group === null) {
      notes.add(
        `router_settings.model_group_alias.${alias}`,
        'the alias is skipped: it must be a new name, and its model must be in model_list',
      );
    } else aliases.set(group, [...(aliases.get(group) ?? []), alias]);
  }
  return aliases;
}

/** Every setting is named once, never with its value: some are keys. */
function noteSections(sections: JsonObject, notes: ImportNotes): void {
  for (const [section, value] of Object.entries(sections)) {
    const isSettings = section.endsWith('_settings') && isObject(value);
    if (!isSettings) notes.add(section, reasonFor(section));
    else {
      for (const name of Object.keys(value)) {
        if (name !== 'model_group_alias') notes.add(`${section}.${name}`, reasonFor(name));
      }
    }
  }
}

/** Callers of a short name could reach another model, so the check refuses two models with the same short name. */
function noteTakenNames(models: readonly ModelDraft[], catalogue: Catalogue | null, notes: ImportNotes): void {
  for (const { slug, aliases = [] } of models) {
    for (const name of [slug, ...aliases]) {
      const owner = catalogue?.findModel(name) ?? null;
      if (owner !== null && owner.slug !== slug) {
        notes.add(
          name,
          'the catalogue in use has this name for another model: keep this file in a folder of its own, and set CATALOG_PATH to that',
        );
      }
    }
  }
}

function remarksOf(notes: readonly string[]): readonly string[] {
  const head = 'Made of a configuration of LiteLLM by sluice catalog import.';
  return notes.length === 0 ? [head] : [head, 'What could not be converted:', ...notes.map((note) => `- ${note}`)];
}
