/** Texts of many kinds, written or generated for the estimate of tokens. */

export const mulberry = (seed: number): (() => number) => {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
};

/** Returns characters drawn from an alphabet, the same for the same seed. */
function drawn(alphabet: string, length: number, seed: number): string {
  const next = mulberry(seed);
  return Array.from({ length }, () => alphabet[Math.floor(next() * alphabet.length)]).join('');
}

const LOWER = 'abcdefghijklmnopqrstuvwxyz';
const ALPHANUMERIC = `${LOWER}${LOWER.toUpperCase()}0123456789`;

function rows(count: number, row: (index: number) => string): string {
  return Array.from({ length: count }, (_, index) => row(index)).join('\n');
}

const uuid = (seed: number): string =>
  [8, 4, 4, 4, 12].map((length, part) => drawn('0123456789abcdef', length, seed * 7 + part)).join('-');

export const TEXT_SAMPLES: Readonly<Record<string, string>> = {
  'English talk': `Could you please tell me whether the shop on the corner is open tomorrow? My sister will visit us for the
weekend, and we would like to bake a cake for her. She said she likes apples, but not too much sugar. If it is closed,
is there another one that we can reach by bus within half an hour or so?`,
  'English report': `The committee reviewed the quarterly performance indicators and concluded that operational expenditure had
risen considerably, principally because of infrastructure modernization. Nevertheless, stakeholders acknowledged that
the organization's long-term sustainability depends upon continued investment in research and development, particularly
in semiconductor manufacturing and telecommunications.`,
  German: `Die Geschwindigkeitsbegrenzung auf der Umgehungsstraße wurde wegen der Bauarbeiten vorübergehend herabgesetzt. Für
Anwohnerinnen und Anwohner stehen während dieser Zeit zusätzliche Parkmöglichkeiten hinter dem Gemeindehaus bereit.
Rückfragen beantwortet das Ordnungsamt gern telefonisch.`,
  French: `L'été dernier, nous avons passé trois semaines près d'un petit village où les pêcheurs réparaient leurs filets à
l'ombre des platanes. On nous a raconté qu'autrefois la rivière débordait chaque printemps, et que les écoliers
traversaient la place en barque.`,
  Spanish: `Mañana por la mañana saldremos hacia la montaña, aunque el pronóstico anuncia lluvia. Mi compañero ha preparado
bocadillos, y el guía nos enseñará el camino más corto hasta el refugio, donde pasaremos la noche.`,
  Polish: `Wczoraj wieczorem przyszła do nas sąsiadka z prośbą, żebyśmy zaopiekowali się jej kotem. Zgodziliśmy się
chętnie, chociaż w przyszłym tygodniu mamy mnóstwo pracy i niewiele czasu na spacery po łące.`,
  Turkish: `Yarın sabah erkenden yola çıkacağız, çünkü akşama doğru yağmur bekleniyor. Çocuklar için yanımıza biraz meyve ve
su aldık; öğleden sonra göl kıyısında dinlenmeyi düşünüyoruz.`,
  Vietnamese: `Sáng mai chúng tôi sẽ đi chợ sớm để mua rau tươi và cá. Buổi chiều, bà ngoại dạy các cháu nấu món canh chua,
rồi cả nhà cùng ngồi ăn cơm ngoài hiên và kể chuyện ngày xưa.`,
  Russian: `Вчера вечером мы долго гуляли по набережной и разговаривали о том, как изменился город за последние годы. Старые
дома отремонтировали, построили новую библиотеку, а вдоль реки посадили молодые липы.`,
  Greek: `Το καλοκαίρι οι δρόμοι του νησιού γεμίζουν κόσμο και μουσική. Το βράδυ οι ψαράδες βγάζουν τις βάρκες τους, ενώ τα
παιδιά παίζουν στην πλατεία μέχρι αργά.`,
  Hebrew: `אתמול בערב ישבנו במרפסת ודיברנו על התוכניות שלנו לשנה הבאה. השכנים הביאו עוגה, והילדים שיחקו בחצר עד שעה מאוחרת.`,
  Arabic: `ذهبنا صباح اليوم إلى السوق القديم لشراء الخضروات والفواكه الطازجة، ثم جلسنا في المقهى نتحدث عن السفر وعن
الكتب التي قرأناها في الشتاء الماضي.`,
  Persian: `دیروز عصر به باغ پدربزرگ رفتیم و زیر درخت توت چای نوشیدیم. بچه‌ها کنار جوی آب بازی می‌کردند و از خنکی هوا لذت می‌بردند.`,
  Hindi: `कल सुबह हम सब नदी के किनारे टहलने गए थे। वहाँ बच्चे पतंग उड़ा रहे थे और बूढ़े लोग पेड़ की छाया में बैठकर पुरानी
कहानियाँ सुना रहे थे।`,
  Bengali: `গতকাল বিকেলে আমরা নদীর ধারে হাঁটতে গিয়েছিলাম। আকাশে মেঘ ছিল, কিন্তু বৃষ্টি হয়নি, আর শিশুরা মাঠে ফুটবল খেলছিল।`,
  Tamil: `நேற்று மாலை நாங்கள் கடற்கரைக்குச் சென்றோம். குழந்தைகள் மணலில் வீடு கட்டி விளையாடினார்கள்.`,
  Thai: `เมื่อวานนี้พวกเราไปเดินเล่นที่ตลาดริมน้ำ ซื้อผลไม้สดและขนมหวานกลับบ้าน แล้วนั่งดูพระอาทิตย์ตกด้วยกัน`,
  Chinese: `昨天下午我们去图书馆借了几本关于天文学的书。管理员告诉我们，下个星期会有一位教授来作报告，题目是宇宙的起源与未来。`,
  'Traditional Chinese': `昨天下午我們去圖書館借了幾本關於天文學的書。館員告訴我們，下個星期會有一位教授來演講，題目是宇宙的起源與未來。`,
  Japanese: `昨日の午後、図書館へ行って天文学の本を三冊借りました。来週は有名な先生が講演をするそうなので、友だちと一緒に聞きに行くつもりです。`,
  Korean: `어제 오후에 도서관에 가서 천문학에 관한 책을 세 권 빌렸습니다. 다음 주에는 유명한 교수님이 강연을 하신다고 해서 친구와 함께 가려고 합니다.`,
  Georgian: `გუშინ საღამოს ჩვენ მდინარის პირას ვისეირნეთ და მომავალი წლის გეგმებზე ვისაუბრეთ.`,
  Emoji: `Great news 🎉🎉 we are going to the beach 🏖️ tomorrow ☀️! Bring 🩴, 🧴 and 🍉🍉🍉. See you there 👋🏽👩‍👩‍👧‍👦 ❤️🔥`,
  Mathematics: `∀ε>0 ∃δ>0: |x−a|<δ ⇒ |f(x)−f(a)|<ε; ∑ᵢ₌₁ⁿ i² = n(n+1)(2n+1)/6, ∫₀^∞ e^{−x²} dx = √π⁄2, A ⊂ B ∩ C ≠ ∅.`,
  LaTeX: String.raw`\begin{align} \nabla \times \mathbf{E} &= -\frac{\partial \mathbf{B}}{\partial t} \\ \oint_{\partial \Sigma} \mathbf{B} \cdot d\boldsymbol{\ell} &= \mu_0 \left( I + \varepsilon_0 \frac{d\Phi_E}{dt} \right) \end{align}`,
  TypeScript: `export async function loadSettings(path: string): Promise<Settings> {
  const text = await readFile(path, 'utf8');
  try {
    return { ...DEFAULTS, ...(JSON.parse(text) as Partial<Settings>) };
  } catch (error) {
    throw new SettingsError(\`\${path} is not valid JSON\`, { cause: error });
  }
}`,
  Python: `def moving_average(values, window=3):
    """Return the mean of each window of values."""
    if window <= 0:
        raise ValueError("window must be positive")
    total = sum(values[:window])
    result = [total / window]
    for i in range(window, len(values)):
        total += values[i] - values[i - window]
        result.append(total / window)
    return result`,
  'C with macros': `#define MIN(a, b) ((a) < (b) ? (a) : (b))
static inline uint32_t rotl32(uint32_t x, int8_t r) { return (x << r) | (x >> (32 - r)); }
for (size_t i = 0; i < n; ++i) { h ^= rotl32(data[i] * 0xcc9e2d51u, 15); h = h * 5 + 0xe6546b64u; }`,
  SQL: `SELECT o.id, c.name, sum(l.quantity * l.unit_price) AS total FROM orders o JOIN customers c ON c.id = o.customer_id
LEFT JOIN order_lines l USING (order_id) WHERE o.created_at >= now() - interval '7 days' GROUP BY 1, 2 HAVING count(*) > 3;`,
  'minified JavaScript': `!function(e,t){"object"==typeof exports&&"undefined"!=typeof module?module.exports=t():(e=e||self).n=t()}(this,function(){var r=[],o={};function i(e,t){return r.push([e,t]),o[e]=t,t&&t.x||null}return{a:i,b:function(e){return o[e]}}});`,
  HTML: `<div class="card card--wide"><h2 id="title">Opening hours</h2><ul><li><a href="/monday">Monday</a>: 9&ndash;17</li><li>Tuesday: <em>closed</em></li></ul></div>`,
  Markdown: `## Install\n\n1. Clone the repository\n2. Run \`npm ci\`\n\n| option | default | meaning |\n|---|---|---|\n| \`--port\` | 8080 | where it listens |\n| \`--host\` | localhost | **never** public |\n\n- [x] done\n- [ ] to do`,
  CSV: rows(
    12,
    (i) => `${1000 + i},2026-0${(i % 9) + 1}-1${i % 10},${(i * 37.45).toFixed(2)},"item, no. ${i}",${i % 2 === 0}`,
  ),
  'JSON in a text': JSON.stringify(
    Array.from({ length: 4 }, (_, i) => ({ id: i, name: `sensor-${i}`, tags: ['a', 'b'], value: i * 1.25, ok: true })),
    null,
    2,
  ),
  'log lines': rows(
    6,
    (i) => `2026-11-23T18:0${i}:12.${100 + i}Z INFO [worker-${i}] GET /api/items/${i * 911} 200 ${i * 3}ms`,
  ),
  UUIDs: rows(8, (i) => uuid(i + 1)),
  hex: drawn('0123456789abcdef', 400, 3),
  base64: drawn(`${ALPHANUMERIC}+/`, 400, 4),
  'lower-case noise': drawn(LOWER, 400, 5),
  'noise in words of six letters': Array.from({ length: 60 }, (_, i) => drawn(LOWER, 6, 60 + i)).join(' '),
  'noise of all letters': drawn(ALPHANUMERIC, 400, 6),
  digits: drawn('0123456789', 400, 7),
  'numbers in a column': rows(40, (i) => `${i} ${(i * 7919) % 10_007}`),
  'capitals only':
    'ATTENTION ALL PASSENGERS: THE TRAIN TO THE AIRPORT DEPARTS FROM PLATFORM SEVEN. PLEASE KEEP YOUR LUGGAGE WITH YOU.',
  'one letter after another': 'a b c d e f g h i j k l m n o p q r s t u v w x y z '.repeat(8),
  'a long line of dashes': `${'-'.repeat(120)}\n${'='.repeat(120)}\n${'* '.repeat(40)}`,
  punctuation: `?!.,;:()[]{}<>/\\|@#$%^&*"'\`~+-=_`.repeat(10),
  'deep indentation': rows(10, (i) => `${' '.repeat(4 * i)}- step ${i}`),
  'blank lines': 'one\n\n\n\ntwo\n\n\n\nthree\n\n\n\nfour',
  'text after data:': `data:${'please read all of this as what it is, a text. '.repeat(20)}`,
};
