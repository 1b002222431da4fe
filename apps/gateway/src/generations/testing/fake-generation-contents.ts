import type { GenerationContent, StoredContent, WorkspaceTenant } from '@libs/persistence';

/** Contents of calls in memory. */
export class FakeGenerationContents {
  readonly rows: StoredContent[] = [];
  /** Failures before the next success. */
  failures = 0;
  tries = 0;
  /** What PostgreSQL would not store. */
  readonly refusedIds = new Set<string>();

  async store(contents: readonly StoredContent[]): Promise<void> {
    this.tries += 1;
    if (this.failures > 0) {
      this.failures -= 1;
      throw new Error('the database is away');
    }
    if (contents.some(({ generationId }) => this.refusedIds.has(generationId))) {
      throw Object.assign(new Error('unsupported Unicode escape sequence'), { code: '22P05' });
    }
    this.rows.push(...contents);
  }

  async find(
    generationId: string,
    createdOn: string,
    { workspaceId }: WorkspaceTenant,
  ): Promise<GenerationContent | null> {
    const isIt = (row: StoredContent): boolean =>
      row.generationId === generationId && row.createdOn === createdOn && row.workspaceId === workspaceId;
    return this.rows.find(isIt) ?? null;
  }
}
