import { dayOfId, type Principal } from '@libs/contracts';
import { AppError } from '@libs/errors';
import type { GenerationContentsRepository, GenerationsRepository } from '@libs/persistence';
import { generationEntry, type GenerationEntry } from './generation-entry';

/** Slugs of providers to the names they go by; null for one that is not known any more. */
export type ProviderNames = (slug: string) => string | null;

/** What was said in a call: `GenerationContent` of the interface. */
export interface ContentEntry {
  readonly input: unknown;
  readonly output: unknown;
  readonly error: unknown;
}

/** What a workspace may read of its own calls. */
export class GenerationsService {
  constructor(
    private readonly generations: Pick<GenerationsRepository, 'find'>,
    private readonly nameOf: ProviderNames,
    /** Null where contents of calls are not kept. */
    private readonly contents: Pick<GenerationContentsRepository, 'find'> | null,
  ) {}

  /**
   * @param id as the query gave it
   * @throws AppError invalid_request without an id; not_found for a call that is not there, or not the caller's
   */
  async get({ organizationId, workspaceId }: Principal, id: unknown): Promise<GenerationEntry> {
    const { generationId, createdOn } = readId(id);
    if (createdOn === null || workspaceId === null) throw notFound();
    const view = await this.generations.find(generationId, createdOn, { organizationId, workspaceId });
    if (view === null) throw notFound();
    return generationEntry(view, (slug) => this.nameOf(slug) ?? slug);
  }

  /**
   * @param id as the query gave it
   * @throws AppError invalid_request without an id; not_found where nothing is kept of the call, or of any, and
   *   for a call that is not the caller's
   */
  async content({ organizationId, workspaceId }: Principal, id: unknown): Promise<ContentEntry> {
    const { generationId, createdOn } = readId(id);
    if (this.contents === null) throw new AppError('not_found', 'The content of calls is not kept: logging is off');
    const kept =
      createdOn === null || workspaceId === null
        ? null
        : await this.contents.find(generationId, createdOn, { organizationId, workspaceId });
    if (kept === null) throw new AppError('not_found', 'No content is kept of this generation');
    const { input, output, error } = kept;
    return { input: JSON.parse(input), output: JSON.parse(output), error: error && (JSON.parse(error) as unknown) };
  }
}

function readId(id: unknown): { readonly generationId: string; readonly createdOn: string | null } {
  if (typeof id !== 'string' || id === '') {
    throw new AppError('invalid_request', 'id is required', { metadata: { param: 'id' } });
  }
  return { generationId: id, createdOn: dayOfGeneration(id) };
}

/** Null for what cannot be the id of a call. The seconds of an invented id may be no day of any calendar. */
function dayOfGeneration(id: string): string | null {
  return /^gen-(?:vid-)?\d{1,10}-/.test(id) ? dayOfId(id) : null;
}

function notFound(): AppError {
  return new AppError('not_found', 'Generation not found');
}
