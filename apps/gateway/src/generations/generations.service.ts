import { dayOfId, type Principal } from '@libs/contracts';
import { AppError } from '@libs/errors';
import type { GenerationsRepository } from '@libs/persistence';
import { generationEntry, type GenerationEntry } from './generation-entry';

/** Slugs of providers to the names they go by; null for one that is not known any more. */
export type ProviderNames = (slug: string) => string | null;

/** What a workspace may read of its own calls. */
export class GenerationsService {
  constructor(
    private readonly generations: Pick<GenerationsRepository, 'find'>,
    private readonly nameOf: ProviderNames,
  ) {}

  /**
   * @param id as the query gave it
   * @throws AppError invalid_request without an id; not_found for a call that is not there, or not the caller's
   */
  async get({ workspaceId }: Principal, id: unknown): Promise<GenerationEntry> {
    if (typeof id !== 'string' || id === '') {
      throw new AppError('invalid_request', 'id is required', { metadata: { param: 'id' } });
    }
    const createdOn = dayOfGeneration(id);
    if (createdOn === null || workspaceId === null) throw notFound();
    const view = await this.generations.find(id, createdOn, workspaceId);
    if (view === null) throw notFound();
    return generationEntry(view, view.provider === null ? null : (this.nameOf(view.provider) ?? view.provider));
  }
}

/** Null for what cannot be the id of a call. The seconds of an invented id may be no day of any calendar. */
function dayOfGeneration(id: string): string | null {
  return /^gen-\d{1,10}-/.test(id) ? dayOfId(id) : null;
}

function notFound(): AppError {
  return new AppError('not_found', 'Generation not found');
}
