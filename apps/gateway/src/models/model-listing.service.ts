import { Injectable } from '@nestjs/common';
import { BatchEntriesQueryDto, ListModelsQueryDto, type OwnedPolicy } from '@libs/contracts';
import { AppError } from '@libs/errors';
import {
  BATCH_SUFFIX,
  isEmbeddingsModel,
  isModelAllowed,
  ProviderHealth,
  readRoutePolicies,
  resolveModel,
  toBatchModelEntry,
  toModelEntry,
  unknownModelMessage,
  type Catalogue,
  type Model,
  type ModelEntry,
} from '@libs/inference';
import { InferenceRouting } from '../routing/inference-routing';
import { toModelEndpoints, type ModelEndpoints } from './endpoint-entry';
import { nextPagePath, type ListPage } from './list-page';
import { filterModels, filterParameters, type ListedModel, type ModelSpeeds } from './model-filter';

export type ListName = 'models' | 'embeddings';
/** Normal models, or models with batch prices. */
type EntryKind = 'ordinary' | 'batch';

interface CatalogueList {
  /** Models in the order of the catalogue. */
  readonly models: readonly ListedModel[];
  /** The answer to a request for the whole list. */
  readonly whole: Buffer;
}

const PATHS: Readonly<Record<ListName | 'user', string>> = {
  models: '/api/v1/models',
  user: '/api/v1/models/user',
  embeddings: '/api/v1/embeddings/models',
};

const NO_WISHES = new ListModelsQueryDto();

/** The catalogue in the form that callers see. Entries are serialized once per catalogue; pages are cut from them. */
@Injectable()
export class ModelListingService implements ModelSpeeds {
  private catalogueHash = '';
  private lists = new Map<string, CatalogueList>();

  constructor(
    private readonly routing: InferenceRouting,
    private readonly health: ProviderHealth,
  ) {}

  /** Returns `{ data, links, total_count }` as JSON. `total_count` counts all models that match the filters. */
  page(name: ListName, page: ListPage, query: ListModelsQueryDto = NO_WISHES): Buffer {
    const { models, whole } = this.listOf(name, kindOf(query));
    const parameters = filterParameters(query);
    if (page.limit === null && parameters === '') return whole;
    return cut(filterModels(models, query, nowSeconds(), this), PATHS[name], page, parameters);
  }

  /** Returns the page of the models that these policies allow. */
  pageFor(policies: readonly OwnedPolicy[], page: ListPage, query: BatchEntriesQueryDto = NO_WISHES): Buffer {
    const rules = readRoutePolicies(policies);
    const allowed = this.listOf('models', kindOf(query)).models.filter(({ model }) => isModelAllowed(model, rules));
    return cut(allowed, PATHS.user, page, filterParameters(query));
  }

  count(query: ListModelsQueryDto): number {
    return filterModels(this.listOf('models', kindOf(query)).models, query, nowSeconds(), this).length;
  }

  /** Returns an entry of the model list by its id or an alias. @throws AppError not_found */
  entryOf(id: string): ModelEntry {
    const model = this.modelNamed(id);
    const entry = model && (id.endsWith(BATCH_SUFFIX) ? toBatchModelEntry(model) : toModelEntry(model));
    if (model === null || entry === null) throw this.notFound(id);
    const isAlias = id !== model.slug && id !== entry.id;
    return isAlias ? { ...entry, alias_target: { slug: model.slug, name: model.name } } : entry;
  }

  /** @throws AppError not_found */
  endpointsOf(slug: string): ModelEndpoints {
    const model = this.modelNamed(slug);
    if (model === null) throw this.notFound(slug);
    return toModelEndpoints(model, slug.endsWith(BATCH_SUFFIX), this.health);
  }

  /**
   * Returns the throughput of the model's fastest endpoint: what half of the calls of the last half hour reached in
   * this process.
   */
  tokensPerSecond({ endpoints }: Model): number | null {
    const speeds = endpoints.flatMap((one) => this.health.history.recordOf(one).throughput?.p50 ?? []);
    return speeds.length === 0 ? null : Math.max(...speeds);
  }

  /** Returns the time to the first token of the model's fastest endpoint, measured in the same way. */
  latencySeconds({ endpoints }: Model): number | null {
    const times = endpoints.flatMap((one) => this.health.history.recordOf(one).latency?.p50 ?? []);
    return times.length === 0 ? null : Math.min(...times);
  }

  /** Finds a model by each name that a call may use: a slug, an alias, a name with suffixes, `~vendor/name-latest`. */
  private modelNamed(name: string): Model | null {
    const catalogue = this.routing.catalogue();
    return catalogue.findModel(name) ?? resolveModel(name, catalogue).model;
  }

  private notFound(name: string): AppError {
    return new AppError('not_found', unknownModelMessage(name, this.routing.catalogue()));
  }

  private listOf(name: ListName, kind: EntryKind): CatalogueList {
    const catalogue = this.routing.catalogue();
    if (catalogue.hash !== this.catalogueHash) {
      this.lists = new Map();
      this.catalogueHash = catalogue.hash;
    }
    const known = this.lists.get(`${kind} ${name}`);
    if (known !== undefined) return known;
    const models = modelsOf(name, kind, catalogue);
    const list = { models, whole: write(models, null, models.length) };
    this.lists.set(`${kind} ${name}`, list);
    return list;
  }
}

function modelsOf(name: ListName, kind: EntryKind, catalogue: Catalogue): readonly ListedModel[] {
  const models = name === 'embeddings' ? catalogue.models().filter(isEmbeddingsModel) : catalogue.models();
  return models.flatMap((model) => {
    const entry = kind === 'batch' ? toBatchModelEntry(model) : toModelEntry(model);
    return entry === null ? [] : [{ model, entry, text: JSON.stringify(entry) }];
  });
}

function kindOf({ batch }: BatchEntriesQueryDto): EntryKind {
  return batch === 'true' ? 'batch' : 'ordinary';
}

function cut(models: readonly ListedModel[], path: string, page: ListPage, parameters = ''): Buffer {
  const totalCount = models.length;
  const next = nextPagePath(path, page, { totalCount, parameters });
  return write(models.slice(page.offset, page.offset + (page.limit ?? totalCount)), next, totalCount);
}

function write(models: readonly ListedModel[], next: string | null, totalCount: number): Buffer {
  const data = models.map(({ text }) => text).join(',');
  return Buffer.from(
    `{"object":"list","data":[${data}],"links":${JSON.stringify({ next })},"total_count":${totalCount}}`,
  );
}

const nowSeconds = (): number => Date.now() / 1_000;
