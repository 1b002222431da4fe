import { demandsNoRetention, type CanonicalRequest, type Part, type RetentionFacts, type Role } from '@libs/inference';
import { addressesIn } from './addresses';
import type { ToolContext } from './server-tool';

/** Roles of messages that the caller wrote. The model, or a tool that it called, wrote the others. */
const OF_CALLER: ReadonlySet<Role> = new Set<Role>(['system', 'developer', 'user']);

/**
 * Returns the data rules of a request that tools must follow. A link that the model wrote may contain text of the
 * prompt. So if nothing may be stored, only links that the caller sent are followed.
 */
export function privacyOf(
  facts: RetentionFacts,
  { messages }: Pick<CanonicalRequest, 'messages'>,
): Pick<ToolContext, 'preferences' | 'callerLinks'> {
  const { zdr, dataCollection } = facts.preferences ?? {};
  const preferences = { zdr, dataCollection };
  if (!demandsNoRetention(facts)) return { preferences };
  const given = messages.filter(({ role }) => OF_CALLER.has(role)).flatMap(({ parts }) => parts);
  return { preferences, callerLinks: new Set(given.flatMap(linksOf)) };
}

function linksOf(part: Part): readonly string[] {
  return part.type === 'text' ? addressesIn(part.text) : [];
}
