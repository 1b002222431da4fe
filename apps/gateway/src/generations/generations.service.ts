import { dayOfId, type Principal } from '@libs/contracts';
import { AppError } from '@libs/errors';
import type { GenerationContentsRepository, GenerationsRepository, WorkspaceTenant } from '@libs/persistence';
import type { BatchLineGenerations } from './batch-line-generations';
import { generationEntry, type ContentEntry, type GenerationEntry, type ProviderNames } from './generation-entry';

/** Reads a workspace's own calls. */
export class GenerationsService {
  constructor(
    private readonly generations: Pick<GenerationsRepository, 'find'>,
    private readonly nameOf: ProviderNames,
    /** Null if contents of calls are not stored. */
    private readonly contents: Pick<GenerationContentsRepository, 'find'> | null,
    private readonly lines: Pick<BatchLineGenerations, 'get' | 'content'>,
  ) {}

  /**
   * @param id from the query
   * @throws AppError invalid_request without an id; not_found for an unknown call or one of another workspace
   */
  async get({ organizationId, workspaceId }: Principal, id: unknown): Promise<GenerationEntry> {
    const { generationId, createdOn } = readId(id);
    if (workspaceId === null) throw notFound();
    const tenant = { organizationId, workspaceId };
    const entry = isOfBatch(generationId)
      ? await this.lines.get(generationId, tenant)
      : createdOn && (await this.entryOf(generationId, createdOn, tenant));
    if (!entry) throw notFound();
    return entry;
  }

  private async entryOf(id: string, createdOn: string, tenant: WorkspaceTenant): Promise<GenerationEntry | null> {
    const view = await this.generations.find(id, createdOn, tenant);
    return view && generationEntry(view, (slug) => this.nameOf(slug) ?? slug);
  }

  /**
   * @param id from the query
   * @throws AppError invalid_request without an id; not_found if nothing is stored of the call, and for a call of
   * another workspace
   */
  async content({ organizationId, workspaceId }: Principal, id: unknown): Promise<ContentEntry> {
    const { generationId, createdOn } = readId(id);
    if (isOfBatch(generationId)) {
      const said = workspaceId && (await this.lines.content(generationId, { organizationId, workspaceId }));
      if (!said) throw nothingKept();
      return said;
    }
    if (this.contents === null) {
      throw new AppError('not_found', 'The content of calls is not kept: content logging is off in this service');
    }
    const kept =
      createdOn === null || workspaceId === null
        ? null
        : await this.contents.find(generationId, createdOn, { organizationId, workspaceId });
    if (kept === null) throw nothingKept();
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

/** Returns whether the id is that of a batch line. */
function isOfBatch(id: string): boolean {
  return id.startsWith('gen-batch-');
}

/**
 * Returns the day of a call from its id; null for a text that cannot be such an id. The seconds in an invented id may
 * not be a valid date.
 */
function dayOfGeneration(id: string): string | null {
  return /^gen-(?:vid-)?\d{1,10}-/.test(id) ? dayOfId(id) : null;
}

function nothingKept(): AppError {
  return new AppError('not_found', 'No content is kept of this generation');
}

function notFound(): AppError {
  return new AppError('not_found', 'Generation not found');
}
