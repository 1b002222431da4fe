import { mulberry } from './text-samples';

/** Texts that have more tokens than their length suggests: generated ones, natural ones, and a search for more. */
type Random = (below: number) => number;

export function seededRandom(seed: number): Random {
  const next = mulberry(seed);
  return (below) => Math.floor(next() * below);
}

const LOWER = 'abcdefghijklmnopqrstuvwxyz';
const UPPER = LOWER.toUpperCase();
const DIGITS = '0123456789';
const CONSONANTS = 'bcdfghjklmnpqrstvwxz';
const VOWELS = 'aeiouy';

/** Returns the characters from one code point up to that before another. */
function characters(first: number, end: number): string {
  return Array.from({ length: end - first }, (_, index) => String.fromCodePoint(first + index)).join('');
}

/** Alphabets that texts are drawn from, and that a search mixes. */
export const ALPHABETS: Readonly<Record<string, string>> = {
  'small letters': LOWER,
  capitals: UPPER,
  letters: LOWER + UPPER,
  'rare letters': 'jqxzvwkJQXZVWK',
  digits: DIGITS,
  hex: `${DIGITS}abcdef`,
  base64: `${LOWER}${UPPER}${DIGITS}+/`,
  rules: '-=*#_.~',
  'pictures of characters': ' .:-=+*#%@',
  marks: '!"$%&\'()+,/:;<>?@[\\]^`{|}',
  'white space': ' \n\t\r',
  controls: '\b\f\u0001\u0002\u0010\u001b\u001f\u007f',
  'every space': ' \n\t\r\f\u000b\u00a0\u2003\u3000',
  'Latin with accents': characters(0xc0, 0x180),
  'phonetic letters': characters(0x250, 0x2b0),
  'combining marks': characters(0x300, 0x340),
  Greek: characters(0x370, 0x400),
  'small Cyrillic': characters(0x430, 0x450),
  Cyrillic: characters(0x400, 0x500),
  Hebrew: characters(0x591, 0x5f4),
  Arabic: characters(0x600, 0x6ff),
  Devanagari: characters(0x900, 0x97f),
  'South Asia': characters(0xb00, 0xe00),
  Tibetan: characters(0xf00, 0xfff),
  Georgian: characters(0x10a0, 0x1100),
  Ethiopic: characters(0x1200, 0x1380),
  Vietnamese: characters(0x1ea0, 0x1f00),
  symbols: characters(0x2000, 0x2c00),
  kana: characters(0x3041, 0x3100),
  Han: characters(0x4e00, 0x9fa6),
  'rare Han': characters(0x9a00, 0x9fa6),
  'Han beyond': characters(0x3400, 0x4dc0),
  Korean: characters(0xac00, 0xd7a4),
  'private use': characters(0xe000, 0xf900),
  'wide forms': characters(0xff00, 0xfff0),
  emoji: characters(0x1f300, 0x1fa00),
  'letters of mathematics': characters(0x1d400, 0x1d800),
  tags: characters(0xe0020, 0xe0080),
};

const POINTS = new Map(Object.entries(ALPHABETS).map(([name, alphabet]) => [name, Array.from(alphabet)]));

function drawn(random: Random, alphabet: readonly string[], length: number): string {
  return Array.from({ length }, () => alphabet[random(alphabet.length)]).join('');
}

/** Returns words in which a vowel comes after so many consonants. */
function pronounceable(random: Random, consonants: number, length: number): string {
  const letter = (place: number): string =>
    place % (consonants + 1) === 0 ? VOWELS[random(VOWELS.length)]! : CONSONANTS[random(CONSONANTS.length)]!;
  const words = Array.from({ length: 100 }, () => Array.from({ length }, (_, place) => letter(place)).join(''));
  return words.join(' ');
}

/** Returns texts that have more tokens than their length suggests, one of each kind. */
export function generatedTexts(seed: number): Record<string, string> {
  const random = seededRandom(seed);
  const texts: Record<string, string> = {};
  for (const [name, points] of POINTS) {
    texts[`${name} in a row`] = drawn(random, points, 700);
    for (const length of [1, 2, 6, 20]) {
      const words = Array.from({ length: Math.ceil(700 / length) }, () => drawn(random, points, length));
      texts[`${name} in words of ${length}`] = words.join(' ');
    }
  }
  for (const consonants of [0, 1, 2]) {
    for (const length of [4, 6, 8, 20]) {
      texts[`words of ${length} with ${consonants} consonants to a vowel`] = pronounceable(random, consonants, length);
    }
  }
  return texts;
}

export const NATURAL_TEXTS: Readonly<Record<string, string>> = {
  Finnish:
    'Kaikki ihmiset syntyvät vapaina ja tasavertaisina arvoltaan ja oikeuksiltaan. Heille on annettu järki ja omatunto, ja heidän on toimittava toisiaan kohtaan veljeyden hengessä.',
  Swahili:
    'Watu wote wamezaliwa huru, hadhi na haki zao ni sawa. Wote wamejaliwa akili na dhamiri, hivyo yapasa watendeane kindugu.',
  Hungarian:
    'Minden emberi lény szabadon születik és egyenlő méltósága és joga van. Az emberek, ésszel és lelkiismerettel bírván, egymással szemben testvéri szellemben kell hogy viseltessenek.',
  Greenlandic:
    'Inuit tamarmik inunngorput nammineersinnaassuseqarlutik assigiimmillu ataqqinassuseqarlutillu pisinnaatitaaffeqarlutik.',
  Yoruba: 'Gbogbo ènìyàn ni a bí ní òmìnira; iyì àti ẹ̀tọ́ kọ̀ọ̀kan sì dọ́gba.',
  Inuktitut: 'ᐃᓄᓕᒫᑦ ᐊᓂᖅᑎᕆᔪᓕᒫᑦ ᐃᓅᓕᕋᖓᒥᑭᓪᓗ ᐊᓂᖅᑎᕆᔪᓕᒫᑦ ᓯᓚᒃᑯᑦ',
  Tibetan: 'འགྲོ་བ་མིའི་རིགས་རྒྱུད་ཡོངས་ལ་སྐྱེས་ཙམ་ཉིད་ནས་ཆེ་མཐོངས་དང༌།',
  Khmer: 'មនុស្សទាំងអស់កើតមកមានសេរីភាព និងសមភាព',
  'rare Chinese': '龍虎鳥獸龜鱉鼋鼍魑魅魍魎饕餮鸞鳳麒麟鯤鵬鴛鴦鸚鵡鶴鷺鷹鷲鴻鵠鯨鯢鱷鱸鱒鱔',
  Braille: '⠁⠃⠉⠙⠑⠋⠛⠓⠊⠚⠅⠇⠍⠝⠕⠏⠟⠗',
  phonetics: 'ˈkwɪk ˈbɹaʊn ˈfɒks ˈdʒʌmps ˈəʊvə ðə ˈleɪzi ˈdɒɡ',
};

/** Returns the dearest pattern that a search by small changes finds: the one with the lowest share. */
export function dearestPattern(
  seed: number,
  tries: number,
  shareOf: (pattern: string) => number,
): { readonly share: number; readonly pattern: string } {
  const random = seededRandom(seed);
  const names = [...POINTS.keys()];
  let best = { share: Infinity, pattern: '' };
  for (let left = tries; left > 0;) {
    const alphabets = Array.from({ length: 1 + random(3) }, () => POINTS.get(names[random(names.length)]!)!);
    const any = (): string => {
      const alphabet = alphabets[random(alphabets.length)]!;
      return alphabet[random(alphabet.length)]!;
    };
    let found = { share: Infinity, pattern: Array.from({ length: 1 + random(14) }, any) };
    for (let stale = 0; stale < 50 && left > 0; left -= 1) {
      const pattern = found.share === Infinity ? found.pattern : changed(random, found.pattern, any);
      const share = shareOf(pattern.join(''));
      stale = share < found.share ? 0 : stale + 1;
      if (share <= found.share) found = { share, pattern };
    }
    if (found.share < best.share) best = { share: found.share, pattern: found.pattern.join('') };
  }
  return best;
}

const LONGEST_PATTERN = 30;

function changed(random: Random, pattern: readonly string[], any: () => string): string[] {
  const next = [...pattern];
  const place = random(next.length);
  const kind = random(4);
  if (kind === 0 && next.length < LONGEST_PATTERN) next.splice(place, 0, any());
  else if (kind === 1 && next.length > 1) next.splice(place, 1);
  else next[place] = any();
  return next;
}
