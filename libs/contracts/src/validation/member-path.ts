/** A name that fits a path and a log line as it is. */
const PLAIN_NAME = /^[A-Za-z0-9_-]{1,40}$/;
const LONGEST_NAME = 40;
/** What is shown of a longer name, which may be a secret in the wrong place. */
const SHOWN_OF_LONGER = 20;

/**
 * Returns the path of a field that a caller named: `policy.regions`. A name with other characters is quoted, escaped to
 * ASCII and cut: `policy["zdr "]`.
 * @param parentPath empty for a field of the body itself
 */
export function memberPath(parentPath: string, name: string): string {
  const step = memberStep(name);
  return parentPath === '' && step.startsWith('.') ? name : parentPath + step;
}

/** Returns the last step of such a path: `.regions` or `["zdr "]`. */
export function memberStep(name: string): string {
  return PLAIN_NAME.test(name) ? `.${name}` : `[${quoted(name)}]`;
}

function quoted(name: string): string {
  const shown = name.length <= LONGEST_NAME ? name : `${name.slice(0, SHOWN_OF_LONGER)}...`;
  return JSON.stringify(shown).replace(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
