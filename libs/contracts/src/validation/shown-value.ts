/** Fields for secrets, by the last word of their name: of these only the type is shown. */
const SECRET_NAME = /(?:key|token|secret|password|authorization|credential|cookie|code|verifier|signature)$/i;

/** Strings that are not secrets: one word without digits, a short number, or a time. */
const HARMLESS = /^(?:[A-Za-z][A-Za-z_]{0,19}|-?\d{1,6}(?:\.\d{1,6})?|\d{4}-\d{2}-\d{2}(?:T[\d:.]{1,12}Z?)?)$/;

/**
 * Returns a value of a caller as error messages show it: short, on one line, and never a secret. Other strings are
 * shown by their length, arrays and objects by their type.
 * @param path of the field, such as `messages[3].role`
 */
export function shownValue(path: string, value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return value.length === 0 ? 'an empty array' : `an array of ${value.length}`;
  const isForSecrets = SECRET_NAME.test(path);
  switch (typeof value) {
    case 'string':
      return shownText(value, isForSecrets);
    case 'number':
      return isForSecrets ? 'a number' : String(value);
    case 'boolean':
      return String(value);
    default:
      return typeof value === 'object' ? 'an object' : 'no JSON value';
  }
}

/** Returns what was sent for a field, for the end of an error message about it; empty for an absent field. */
export function sentValue(path: string, value: unknown): string {
  return value === undefined ? '' : ` (it is ${shownValue(path, value)})`;
}

const TYPE = /^[\w:.-]{1,64}$/;

/** Returns the type of a tool for a message; null if it does not look like one. */
export function shownType(type: unknown): string | null {
  return typeof type === 'string' && TYPE.test(type) ? type : null;
}

function shownText(text: string, isForSecrets: boolean): string {
  if (text === '') return 'an empty string';
  return !isForSecrets && HARMLESS.test(text) ? `"${text}"` : `a string of ${text.length} characters`;
}
