import { fieldsOf, refusal, type Fields } from './named-tools';
import { failedUse, type BoundTool, type ServerTool, type ToolOutcome } from './server-tool';

const DEFAULT_TIMEZONE = 'UTC';
/** Longer than the name of any time zone. Looking up a text of many megabytes would take the platform a second. */
const MOST_TIMEZONE_CHARACTERS = 64;

/** `<service>:datetime`: returns the current time, in a time zone from the request or from the model. */
export class DatetimeTool implements ServerTool {
  readonly name = 'datetime';

  constructor(private readonly now: () => Date = () => new Date()) {}

  bind(parameters: Fields, path: string): BoundTool {
    const { timezone = DEFAULT_TIMEZONE } = parameters;
    if (typeof timezone !== 'string' || !isTimezone(timezone)) {
      throw refusal(`${path}.timezone`, 'must be the name of a time zone, e.g. Europe/Berlin');
    }
    return {
      definition: {
        name: this.name,
        description: `The current date and time. Without an argument it is that of ${timezone}.`,
        parameters: {
          type: 'object',
          properties: { timezone: { type: 'string', description: 'IANA name of a time zone, e.g. Europe/Berlin' } },
          additionalProperties: false,
        },
      },
      pendingItem: { datetime: '', timezone },
      run: async (args) => this.#tell(fieldsOf(args)['timezone'] ?? timezone),
    };
  }

  #tell(timezone: unknown): ToolOutcome {
    if (typeof timezone !== 'string' || !isTimezone(timezone)) return failedUse('There is no such time zone.');
    const item = { datetime: isoIn(timezone, this.now()), timezone };
    return { parts: [{ type: 'text', text: JSON.stringify(item) }], isError: false, item, costPicoUsd: 0n };
  }
}

function isTimezone(name: string): boolean {
  if (name.length > MOST_TIMEZONE_CHARACTERS) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    // The platform throws for an unknown time zone.
    return false;
  }
}

/** Returns a time with the offset of a time zone, to the second (RFC 3339). */
function isoIn(timezone: string, moment: Date): string {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: timezone,
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    timeZoneName: 'longOffset',
  });
  const parts = Object.fromEntries(format.formatToParts(moment).map(({ type, value }) => [type, value]));
  const { year, month, day, hour, minute, second, timeZoneName = '' } = parts;
  const offset = timeZoneName.replace('GMT', '') || '+00:00';
  return `${year}-${month}-${day}T${hour}:${minute}:${second}${offset}`;
}
