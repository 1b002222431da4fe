import { Injectable } from '@nestjs/common';
import { ListModelsQueryDto, type OwnedPolicy } from '@libs/contracts';
import { AppError } from '@libs/errors';
import {
  BATCH_SUFFIX,
  isEmbeddingsModel,
  isModelAllowed,
  readRoutePolicies,
  toBatchModelEntry,
  toModelEntry,
  type Catalogue,
  type ModelEntry,
} from '@libs/inference';
import { InferenceRouting } from '../routing/inference-routing';
import { toModelEndpoints, type ModelEndpoints } from './endpoint-entry';
import { nextPagePath, type ListPage } from './list-page';
import { filterModels, filterParameters, type ListedModel } from './model-filter';

export type ListName = 'models' | 'embeddings';

interface CatalogueList {
  /** In the order of the catalogue. */
  readonly models: readonly ListedModel[];
  /** The answer to a request for all of them. */
  readonly whole: Buffer;
}

const PATHS: Readonly<Record<ListName | 'user', string>> = {
  models: '/api/v1/models',
  user: '/api/v1/models/user',
  embeddings: '/api/v1/embeddings/models',
};

const NO_WISHES = new ListModelsQueryDto();

/** The catalogue as callers see it. Entries are written once per catalogue, pages are cut from them. */
@Injectable()
export class ModelListingService {
  private catalogueHash = '';
  private lists = new Map<ListName, CatalogueList>();

  constructor(private readonly routing: InferenceRouting) {}

  /** `{ data, links, total_count }` as JSON (spec 2.7); the count is of all that are asked for. */
  page(name: ListName, page: ListPage, query: ListModelsQueryDto = NO_WISHES): Buffer {
    const { models, whole } = this.listOf(name);
    const parameters = filterParameters(query);
    if (page.limit === null && parameters === '') return whole;
    return cut(filterModels(models, query, nowSeconds()), PATHS[name], page, parameters);
  }

  /** The same of the models that these policies leave a caller. */
  pageFor(policies: readonly OwnedPolicy[], page: ListPage): Buffer {
    const rules = readRoutePolicies(policies);
    const allowed = this.listOf('models').models.filter(({ model }) => isModelAllowed(model, rules));
    return cut(allowed, PATHS.user, page);
  }

  count(query: ListModelsQueryDto): number {
    return filterModels(this.listOf('models').models, query, nowSeconds()).length;
  }

  /** An entry of the list of models, by its id. @throws AppError not_found */
  entryOf(id: string): ModelEntry {
    const model = this.routing.catalogue().findModel(id);
    const entry = model && (id.endsWith(BATCH_SUFFIX) ? toBatchModelEntry(model) : toModelEntry(model));
    if (entry === null) throw new AppError('not_found', 'Model not found');
    return entry;
  }

  /** @throws AppError not_found */
  endpointsOf(slug: string): ModelEndpoints {
    const model = this.routing.catalogue().findModel(slug);
    if (model === null) throw new AppError('not_found', 'Model not found');
    return toModelEndpoints(model, slug);
  }

  private listOf(name: ListName): CatalogueList {
    const catalogue = this.routing.catalogue();
    if (catalogue.hash !== this.catalogueHash) {
      this.lists = new Map();
      this.catalogueHash = catalogue.hash;
    }
    const known = this.lists.get(name);
    if (known !== undefined) return known;
    const models = modelsOf(name, catalogue);
    const list = { models, whole: write(models, null, models.length) };
    this.lists.set(name, list);
    return list;
  }
}

function modelsOf(name: ListName, catalogue: Catalogue): readonly ListedModel[] {
  const models = name === 'embeddings' ? catalogue.models().filter(isEmbeddingsModel) : catalogue.models();
  return models.flatMap((model) =>
    [toModelEntry(model), toBatchModelEntry(model)]
      .filter((entry) => entry !== null)
      .map((entry) => ({ model, entry, text: JSON.stringify(entry) })),
  );
}

function cut(models: readonly ListedModel[], path: string, page: ListPage, parameters = ''): Buffer {
  const totalCount = models.length;
  const next = nextPagePath(path, page, { totalCount, parameters });
  return write(models.slice(page.offset, page.offset + (page.limit ?? totalCount)), next, totalCount);
}

function write(models: readonly ListedModel[], next: string | null, totalCount: number): Buffer {
  const data = models.map(({ text }) => text).join(',');
  return Buffer.from(`{"data":[${data}],"links":${JSON.stringify({ next })},"total_count":${totalCount}}`);
}

const nowSeconds = (): number => Date.now() / 1_000;
