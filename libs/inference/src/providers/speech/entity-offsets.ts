import type { TranscriptEntity } from '../../audio/transcript';

/** An entity whose position in the text the upstream does not report. */
export interface FoundEntity {
  readonly text: string;
  readonly type: string;
}

/**
 * Returns the entities in the order in which they were spoken, with their positions. Leaves out an entity that is not
 * in the text.
 */
export function placeEntities(text: string, found: readonly FoundEntity[]): TranscriptEntity[] {
  const placed: TranscriptEntity[] = [];
  let from = 0;
  for (const entity of found) {
    if (entity.text === '') continue;
    const at = text.indexOf(entity.text, from);
    if (at === -1) continue;
    from = at + entity.text.length;
    placed.push({ text: entity.text, type: entity.type, startChar: at, endChar: from });
  }
  return placed;
}
