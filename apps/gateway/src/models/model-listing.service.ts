import { Injectable } from '@nestjs/common';
import { AppError } from '@libs/errors';
import {
  BATCH_SUFFIX,
  isEmbeddingsModel,
  toBatchModelEntry,
  toModelEntry,
  type Catalogue,
  type Model,
  type ModelEntry,
} from '@libs/inference';
import { InferenceRouting } from '../inference/inference-routing';
import { toModelEndpoints, type ModelEndpoints } from './endpoint-entry';
import { nextPagePath, type ListPage } from './list-page';

export type ListName = 'models' | 'embeddings';

interface CatalogueList {
  /** Each entry as JSON text, in the order of the catalogue. */
  readonly entries: readonly string[];
  /** The answer to a request for all of them. */
  readonly whole: Buffer;
}

const PATHS: Readonly<Record<ListName, string>> = {
  models: '/api/v1/models',
  embeddings: '/api/v1/embeddings/models',
};

/** The catalogue as callers see it. Entries are written once per catalogue, pages are cut from them. */
@Injectable()
export class ModelListingService {
  private catalogueHash = '';
  private lists = new Map<ListName, CatalogueList>();

  constructor(private readonly routing: InferenceRouting) {}

  /** `{ data, links, total_count }` as JSON (spec 2.7). */
  page(name: ListName, page: ListPage): Buffer {
    const { entries, whole } = this.listOf(name);
    if (page.limit === null) return whole;
    return write(
      entries.slice(page.offset, page.offset + page.limit),
      nextPagePath(PATHS[name], page, entries.length),
      entries.length,
    );
  }

  count(): number {
    return this.listOf('models').entries.length;
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
    const entries = entriesOf(name, catalogue);
    const list = { entries, whole: write(entries, null, entries.length) };
    this.lists.set(name, list);
    return list;
  }
}

function entriesOf(name: ListName, catalogue: Catalogue): readonly string[] {
  const models = name === 'embeddings' ? catalogue.models().filter(isEmbeddingsModel) : catalogue.models();
  return models.flatMap((model) => entriesOfModel(model)).map((entry) => JSON.stringify(entry));
}

function entriesOfModel(model: Model): object[] {
  const batch = toBatchModelEntry(model);
  return batch === null ? [toModelEntry(model)] : [toModelEntry(model), batch];
}

function write(entries: readonly string[], next: string | null, totalCount: number): Buffer {
  const links = JSON.stringify({ next });
  return Buffer.from(`{"data":[${entries.join(',')}],"links":${links},"total_count":${totalCount}}`);
}
