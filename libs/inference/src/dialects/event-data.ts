import { MalformedJson, QUOTE, isSpace, stringEnd } from '@libs/json';

const LINE_FEED = 0x0a;
const SPACE = 0x20;

/**
 * Returns the data of an event on one line, without surrounding white space. Data on several lines contains line feeds.
 * If they were written unchanged, each line after the first would be read as a separate field.
 * @throws MalformedJson for a line feed inside a string, which JSON forbids
 */
export function eventData(data: Buffer): Buffer {
  const trimmed = trim(data);
  return trimmed.includes(LINE_FEED) ? inOneLine(trimmed) : trimmed;
}

function trim(data: Buffer): Buffer {
  let start = 0;
  let end = data.length;
  while (start < end && isSpace(data[start]!)) start += 1;
  while (start < end && isSpace(data[end - 1]!)) end -= 1;
  return end - start === data.length ? data : data.subarray(start, end);
}

function inOneLine(json: Buffer): Buffer {
  const line = Buffer.from(json);
  for (let at = 0; at < line.length; at += 1) {
    if (line[at] === LINE_FEED) line[at] = SPACE;
    else if (line[at] === QUOTE) at = endOfString(line, at);
  }
  return line;
}

/** The offset of the quote that closes the string. */
function endOfString(json: Buffer, start: number): number {
  const end = stringEnd(json, start);
  if (json.subarray(start, end).includes(LINE_FEED)) throw new MalformedJson('a line ends inside a string', start);
  return end - 1;
}
