const DIGIT_ZERO = 0x30;
const DIGIT_NINE = 0x39;

/**
 * Sets a field of an object with any name. Assigning to `__proto__` would change the object's prototype; assigning to
 * an index would make V8 allocate room for all lower ones: 4 kB for `"330"`.
 */
export function setMember(object: Record<string, unknown>, name: string, value: unknown): void {
  const first = name.charCodeAt(0);
  if (first >= DIGIT_ZERO && first <= DIGIT_NINE) {
    // A field that is not enumerable makes V8 keep all indexes of the object in a hash table.
    Object.defineProperty(object, name, { value, writable: true, enumerable: false, configurable: true });
    Object.defineProperty(object, name, { enumerable: true });
  } else if (name === '__proto__') {
    Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true });
  } else {
    object[name] = value;
  }
}
