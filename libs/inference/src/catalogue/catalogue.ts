import { createHash } from 'node:crypto';
import type { Model, Provider } from './catalogue-entries';
import { type CatalogueFile, type ParseOptions, readCatalogueEntries } from './catalogue-parser';

export { APIS } from './catalogue-entries';
export type { Api, Architecture, BatchSupport, DataPolicy, Endpoint, Model, Provider } from './catalogue-entries';

export { CatalogueError, type CatalogueProblem } from './catalogue-error';
export type { CatalogueFile, ParseOptions } from './catalogue-parser';

/** Asks for the batch prices of a model; part of the slug on the wire, never of a slug in a file. */
export const BATCH_SUFFIX = ':batch';

/** All providers and models at one moment. Immutable: a reload makes a new one. */
export class Catalogue {
  /** SHA-256 over the content, hex: two catalogues with the same hash say the same. */
  readonly hash: string;
  readonly #providers: readonly Provider[];
  readonly #models: readonly Model[];
  readonly #providersBySlug: ReadonlyMap<string, Provider>;
  /** By slug and by alias. */
  readonly #modelsByName: ReadonlyMap<string, Model>;

  /** Slugs and aliases must be unique. */
  constructor(providers: readonly Provider[], models: readonly Model[]) {
    this.#providers = [...providers];
    this.#models = [...models];
    this.#providersBySlug = new Map(providers.map((provider) => [provider.slug, provider]));
    this.#modelsByName = new Map(models.flatMap((model) => namesOf(model).map((name) => [name, model])));
    this.hash = createHash('sha256')
      .update(serialize([providers, models]))
      .digest('hex');
  }

  /** In file order. */
  providers(): readonly Provider[] {
    return this.#providers;
  }

  /** In file order, which is the order of every listing. */
  models(): readonly Model[] {
    return this.#models;
  }

  /** The model behind `x` or `x:batch`, where `x` is its slug or one of its aliases. */
  findModel(name: string): Model | null {
    const plain = name.endsWith(BATCH_SUFFIX) ? name.slice(0, -BATCH_SUFFIX.length) : name;
    return this.#modelsByName.get(plain) ?? null;
  }

  findProvider(slug: string): Provider | null {
    return this.#providersBySlug.get(slug) ?? null;
  }
}

/**
 * Reads the YAML files of a catalogue. Several files are merged by slug: a model in two files has the
 * endpoints of both, everything else is what the first file says; a provider may be repeated word for word
 * only. Throws a CatalogueError that lists every problem of every file.
 */
export function parseCatalogue(files: readonly CatalogueFile[], options: ParseOptions = {}): Catalogue {
  const { providers, models } = readCatalogueEntries(files, options);
  return new Catalogue(providers, models);
}

/** All names that lead to a model, its slug first. */
export function namesOf({ slug, aliases = [] }: Model): readonly string[] {
  return [slug, ...aliases];
}

function serialize(content: unknown): string {
  return JSON.stringify(content, (_key, value: unknown) => (typeof value === 'bigint' ? value.toString() : value));
}
