import { isObject, type JsonObject } from '@libs/json';
import { MEDIA_TYPES } from './media-places';

/** Fields of a body that hold its conversation. */
const CONVERSATIONS = ['messages', 'input', 'system'] as const;
/** Fields that hold arbitrary JSON, in which a `type` means nothing: tool arguments and tool definitions. */
const JSON_MEMBERS: ReadonlySet<string> = new Set(['input', 'tools']);

/**
 * Returns the path of the first message or item that contains more than text, such as `messages[2]`; null if there is
 * none.
 */
export function findMedia(body: JsonObject): string | null {
  for (const member of CONVERSATIONS) {
    const entries = body[member];
    if (!Array.isArray(entries)) continue;
    const index = entries.findIndex((entry) => hasMediaBesideContent(member, entry) || holdsMedia(entry));
    if (index !== -1) return `${member}[${index}]`;
  }
  return null;
}

/** Returns whether a message has `images` or `audio` of the model, which are not part of its content. */
function hasMediaBesideContent(member: string, entry: unknown): boolean {
  if (member !== 'messages' || !isObject(entry)) return false;
  const { images, audio } = entry;
  return (Array.isArray(images) && images.length > 0) || (audio !== undefined && audio !== null);
}

/** Returns whether an entry contains media at any depth, as in tool results or the output of a program. */
function holdsMedia(entry: unknown): boolean {
  const open: unknown[] = [entry];
  while (open.length > 0) {
    const value = open.pop();
    if (Array.isArray(value)) for (const inner of value) open.push(inner);
    else if (isObject(value)) {
      const { type } = value;
      if (typeof type === 'string' && MEDIA_TYPES.has(type)) return true;
      for (const [name, inner] of Object.entries(value)) if (!JSON_MEMBERS.has(name)) open.push(inner);
    }
  }
  return false;
}
