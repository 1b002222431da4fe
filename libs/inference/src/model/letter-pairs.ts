/** Two letters of a word; `^` is any capital. */
export interface LetterPair {
  /** Position of the first letter in the word, from 1; 3 for all later positions. */
  readonly place: number;
  /** Whether a vowel precedes them. */
  readonly isAfterVowel: boolean;
  readonly letters: string;
}

const LETTERS = 'abcdefghijklmnopqrstuvwxyz^';

/**
 * The units of a letter after another one, in base 36: a row for the first, a column for the second. The first table is
 * for pairs at the start of a word, the next two for pairs that begin with its second letter (not after a vowel, after
 * a vowel), the last two for later pairs.
 *
 * A search fitted the numbers: their sum over the words of docs, code and JSON is low, and all words of up to three
 * letters and all lower-case ones of up to five cost at least 0.6 of their tokens, counted with the vocabulary of two
 * that has more. Of longer words, 15 million tries found some below 0.6 and none below 0.5. `text-floor.spec.ts` goes
 * on searching.
 */
const PAIRS: readonly (readonly string[])[] = [
  [
    'is11803jd280c1h4p501dm3jqbj',
    'fij0ddltgtdcnigijn1ledgfgfj',
    'fej0n8liggpcqj0k9n1fmdeijlj',
    'fci09hmrgicnjhfs9n1lgegdjln',
    'grng548ndb82b1hz2607tn60lrz',
    'fdj0nzlqgsfcidhk9k1meemajrk',
    'jfj6ggmxgsqfidckkl0kgdmcjgs',
    'gfj4eastdoeyiggmlo4lgehfdyj',
    'zvt0e0ckh76b60vieh00vzdzrzm',
    'lej7jlqykhqyjqfm8o0lmnrnmyl',
    'jnkaczlrjkmllcglknbmedmojrk',
    'fjj4ialqahezidcskq3lzehcxpm',
    'aej0cglqdgdmzhas8o1khdmfdlj',
    'feztizzrglnqidchjoyzedmdjhk',
    'gbad90yjdq1srfk4p525in8hrjm',
    'bdj1c9lmghkikdco8b9fedghjns',
    'sfhjsjrzmyqqvsls9q1linmnovp',
    'ecj0977sgygpifhi8vazedhajgk',
    'ji059blmgh3eidf90o91e3bcgfu',
    'fdj2dbsggocmkecsjm0lqz8c2hs',
    'murrzcmnzm6zd0wenc0drrizqjj',
    'lfj6dglqgydmidckkq7midebjlj',
    'efi6n8nlgylmiegkko1kvnefjll',
    'sgh2n7rzryqmidhsjq1sjlqdgym',
    'hykj2jdzdxlyqiayml7cvzmzqwt',
    'ydj4ojqqnudwjehrky6qmpffmfm',
    'jjjknkswjyqwqjjjlrkrjnnjmrj',
  ],
  [
    'kbh8ghogkjf9d4pik003geemdhk',
    'dmlakecrikdndduntnclkmhkcfk',
    'jmujzoldrvpwjjuutsuupnpjkmm',
    'rytmrumqzvvssnvytwotzwsuorm',
    'abecaalaglm4b7jkf630hsa7azl',
    'lrnjjjnrzwgulhtrntikolmmiml',
    'l6lglnipxphmmiprqwztsmngigg',
    '09c30854bi3z736fbbhbb897268',
    'jdl6cdjghnfhb4zllh94frdmgfm',
    'fdf5e9hblhafc7fkji89hhlhhhh',
    'mkhgikhkosgkggjsnpjkqkmgclg',
    '7bdffc9bfkcncdbjhi9iahfbzcc',
    'ahh59f7cgf9jb6jgij7aggcfagg',
    'gojbcebikkfkdcjltrcmnlfh9em',
    'jmn9jjwjoxrcd8mfsfbdbtblkkk',
    'hklaffcjkmbcbbkllnfhzsga7fl',
    'lpmrnwmorwlojkpwzwmntnqjmmk',
    'bcf82iafgvcr885nilacmlfg8dj',
    'uxtlzqmszwsqqmvyzyqswqzjorj',
    'coo9unnozucn6zlyuddlzmqi8nz',
    'hgeebclggnlaf6nkqc79lpdzehj',
    'okhgol8kzsilgclrqplmkmmghii',
    'fjgjfeekjneiheeqpoeijkiidih',
    'hplgghmmowjlhckltnfhnpmjffm',
    'miohnjokmrrsuvkcshjolohhrmj',
    'hhi8dcjiguaieajlmmcffkfeafj',
    'lmqlpommwwlzmjtztzkonsqknkj',
  ],
  [
    '69d78ahbeiatid9fib5c9k7g8a5',
    'bbg85ba9e4ag88npdc0bbdeaaa8',
    'zokiynk9zvgpkltzwsj9tnoiili',
    'uurjwvmqzvkrkkzztwbmymsiknz',
    'klrknmxqmrxzmhkuzhhjqzjklrj',
    'ruupncllrxmwonuvtzlntspolmj',
    'gjlgzmcqzsgpggkxqvljykyhhjg',
    '76a0c5298g2851bf9h59a5e1333',
    'hei99djgbmdzcliikfadcoajdef',
    'oksmmnklztkpkkszpzooulohhkh',
    'kooinnkmrwkpjoozptmmmmoijli',
    'nmrhzljlrvhlbjnytygevzpkmmj',
    'd7odzj9egzdomdg8kqdgehkddhd',
    'ynl4lwdkqvnqmcmzsvbcmlpjjmj',
    'dhgcggmfglfgfzehiijgbrihjib',
    'klpmkkiontfrfjlfpsf8xtligjf',
    'jnlhrqllqukuhmlurumoklrhjjl',
    'hcgdir4jzqzn7ipsoipzhzolehf',
    'pmmjspmwzwmojkzxtznzznzojmk',
    'zzznonmjzvlykjzztviuzrxqjok',
    'adc798q7fgjlbzbjl3o0boa4dg9',
    '55a14c33zd3661cebx487764274',
    'gnkojtiqosjnkgpxqtjkosqlgjh',
    'nmpjgrljrvjqjkmetzjcnnpjljj',
    '4057028149c9cc1gd8580b00356',
    'ncf8cdbcgkdf98cpimbbblf8ci8',
    'mqojpxmmswlzzjkxtqlqosqjnkm',
  ],
  [
    'k6d7hj7ehna3b3lfu763hfdj6dm',
    'ggieafgjmhfieelpqpcghmigcek',
    'gjkc8mc3jl9hdfdmoidbishgagm',
    'knrkhmlmrumkkjqusxjnovonjok',
    'jme3ilrnmqonh7nor33clpgejkj',
    'hhicmgggfvhkighrnrmhkpkggjl',
    'nnrjfskkrvsrkklyytmooopjllm',
    'jmpj7okpjwjljjktqnjnjommjmj',
    'cd4646efpjeb933bof74lmggj6n',
    'bdl84eebglag89fikj8bcqkfgle',
    'konjknjmnpmojikttsciqqmmnun',
    'gjjg3jjjdojjjjerpojjlkkjajk',
    'jomjjkjjjxjjjhjunxjomnnmjql',
    'hllbgnjnwrhrkkjqyrjhmpokjko',
    'j9gbjgghhjjc73jds33c693dhjj',
    '9ee69c79bk8c8a5jfh5ccged68b',
    'hae8fkieiqhh89kghjb9dkfblke',
    '5did3bdbcqdida3lhk8dnjdfcah',
    'jpnjdjkkhrjqjjktorkenoljjjj',
    'lrrmcnsmdwmpjmqvxnnlmuvmikj',
    'f78539ee8oj5aamgr33alnebggq',
    'lile3hakfrfjfdiouuggojkfhpm',
    'eejcaecdjmekcchrpjdghpiedkk',
    'njkdhktsvysndfmltonissubjhr',
    'jktjjkpoowmutpkjvjjknxjkmjj',
    'kjkc9gmnjwgphdlnrxggkpikcep',
    'kpronxortwppxknztzvpnqqknnk',
  ],
  [
    'f9c3ikcfgnc9c5neu39biebjdak',
    'hgmheplhpwlgjjosqpfnnpmkgkk',
    'hlljdik6st3kiliwqoj3hlmilbn',
    'jpte8okrmwotjmnytylpsqtojqj',
    'mml9mlnnmundeftns33ijonllln',
    'hpmjg9jmlvjnkkkwonk7jnmkink',
    'hkjj3k8dfvjjj6frqgefikmjcjj',
    'hhhedhfgosemfdhpqpgejnggggj',
    'j9e3gkkjkmg3k3lgr344khhkhel',
    'egd96bkagidi99dlgn3ddlkkkki',
    'ljik3llihqfmkkjqmo8jikpkekj',
    'imn84fjoiwh6jmhtpqccgmum9mk',
    'h9oi3nmkmpkm5jieorakllljill',
    'lnd5cm5kksipkilzpv55qkskkkj',
    'kkn8kkmnpulhj3klwcjffilglok',
    'cjhh3oibmpmdmhdjri9bjrph5hk',
    'gae7cgedjrhh77iidh7abf9afje',
    'ljkeamfmjwknfblsrp9amqrmfmk',
    'rplleqohkzjpnnnmtse7ppwlnkk',
    'cjjkaqmagvknlkgupoicdrpndek',
    'ognajoiljpogogmjr5a5mioglok',
    'bmjg3mghbohtgiiprljmkmlgaif',
    'mlmjjslqqtqmjbktrwemtvokjoj',
    'knjjisoklvonsmnntzuasxtkjlk',
    'hkqkfmpjpswqlmlpsmilnuikomj',
    'fnjk9mqkltknkiitvqkkkqnikck',
    'krnknypnpwkrqknwrrnslqrrnmk',
  ],
];

/** Returns the units of the second letter. */
export function pairUnits({ place, isAfterVowel, letters: [first, second] }: LetterPair): number {
  const table = place === 1 ? 0 : 2 * place - 3 + (isAfterVowel ? 1 : 0);
  const row = PAIRS[table]![LETTERS.indexOf(first!)]!;
  return Number.parseInt(row[LETTERS.indexOf(second!)]!, 36);
}
