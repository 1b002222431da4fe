const LONGEST = 300;

/** Text from outside as it may be shown: in one line, without characters that a terminal obeys, and not too long. */
export function printable(text: string): string {
  const plain = text.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ');
  return plain.length > LONGEST ? `${plain.slice(0, LONGEST)} …` : plain;
}
