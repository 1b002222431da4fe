import { createHash } from 'node:crypto';
import type { Model, Provider } from './catalogue-entries';
import { type CatalogueFile, type ParseOptions, readCatalogueEntries } from './catalogue-parser';

export { APIS } from './catalogue-entries';
export type { Api, Architecture, BatchSupport, DataPolicy, Endpoint, Model, Provider } from './catalogue-entries';

export { CatalogueError, type CatalogueProblem } from './catalogue-error';
export type { CatalogueFile, ParseOptions } from './catalogue-parser';

/** Suffix that asks for the batch prices of a model. Used in requests only, never in a catalogue file. */
export const BATCH_SUFFIX = ':batch';

/** All providers and models at one moment. Immutable: a reload creates a new one. */
export class Catalogue {
  /** SHA-256 of the content, hex. Catalogues with the same hash have the same content. */
  readonly hash: string;
  readonly #providers: readonly Provider[];
  readonly #models: readonly Model[];
  readonly #providersBySlug: ReadonlyMap<string, Provider>;
  /** Models by slug and by alias. */
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

  /** Returns the providers in file order. */
  providers(): readonly Provider[] {
    return this.#providers;
  }

  /** Returns the models in file order, which is the order of every listing. */
  models(): readonly Model[] {
    return this.#models;
  }

  /** Returns the model that `x` or `x:batch` names, where `x` is a slug or an alias. */
  findModel(name: string): Model | null {
    const plain = name.endsWith(BATCH_SUFFIX) ? name.slice(0, -BATCH_SUFFIX.length) : name;
    return this.#modelsByName.get(plain) ?? null;
  }

  findProvider(slug: string): Provider | null {
    return this.#providersBySlug.get(slug) ?? null;
  }
}

/**
 * Reads the YAML files of a catalogue. Several files are merged by slug: a model in two files has the endpoints of both
 * and all other fields of the first file; a provider may be repeated only with identical content. Throws a
 * CatalogueError that lists every problem of every file.
 */
export function parseCatalogue(files: readonly CatalogueFile[], options: ParseOptions = {}): Catalogue {
  const { providers, models } = readCatalogueEntries(files, options);
  return new Catalogue(providers, models);
}

/** Returns all names of a model, its slug first. */
export function namesOf({ slug, aliases = [] }: Model): readonly string[] {
  return [slug, ...aliases];
}

function serialize(content: unknown): string {
  return JSON.stringify(content, (_key, value: unknown) => (typeof value === 'bigint' ? value.toString() : value));
}
