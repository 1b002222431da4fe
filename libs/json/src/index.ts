// Reads JSON byte by byte and edits it without rewriting the rest. It knows only the grammar, so any library may use
// it.
export { hasMoreParts, type MostParts } from './dense-values';
export { NameWatch, withoutDoubledNames } from './doubled-names';
export { JsonCursor } from './json-cursor';
export {
  BACKSLASH,
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  closingQuote,
  COLON,
  COMMA,
  isBeyondDouble,
  isSpace,
  MalformedJson,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
  stringEnd,
} from './json-grammar';
export {
  applyEdits,
  type ByteEdit,
  findMember,
  findValue,
  joinEdits,
  type JsonMember,
  memberEdits,
  type MemberEdits,
  missingMembers,
  scanMembers,
  scanMembersAt,
  type ScannedObject,
  spliceMembers,
  withoutDoubled,
} from './json-members';
export { findJsonObject, parseJson } from './json-value';
export {
  booleanOf,
  defined,
  elementsOf,
  isObject,
  type JsonObject,
  numberOf,
  objectOf,
  objectOrNull,
  objectsOf,
  stringOf,
} from './loose-values';
export { MAX_CONTAINERS, MAX_MEMBERS, MAX_NUMBERS, MAX_STRINGS, ParsedSize } from './parsed-size';
export { setMember } from './set-member';
export { bytesOfString } from './written-string';
