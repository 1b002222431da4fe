import { isObject, type JsonObject } from '../json/loose-values';
import { MEDIA_TYPES } from './media-places';

/** Members of a body that hold its conversation. */
const CONVERSATIONS = ['messages', 'input', 'system'] as const;
/** Members of messages and items that hold JSON, in which a type says nothing: what a model gave a tool, and tools. */
const JSON_MEMBERS: ReadonlySet<string> = new Set(['input', 'tools']);

/** Returns the first message or item of a conversation that holds more than text, such as `messages[2]`; null for none. */
export function findMedia(body: JsonObject): string | null {
  for (const member of CONVERSATIONS) {
    const entries = body[member];
    if (!Array.isArray(entries)) continue;
    const index = entries.findIndex((entry) => hasMediaBesideContent(member, entry) || holdsMedia(entry));
    if (index !== -1) return `${member}[${index}]`;
  }
  return null;
}

/** Whether a message holds pictures or sound that the model made, which stand beside its content. */
function hasMediaBesideContent(member: string, entry: unknown): boolean {
  if (member !== 'messages' || !isObject(entry)) return false;
  const { images, audio } = entry;
  return (Array.isArray(images) && images.length > 0) || (audio !== undefined && audio !== null);
}

/** Parts stand at any depth: in messages, in results of tools, in what a program has put out. */
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
