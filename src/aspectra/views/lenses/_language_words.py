"""What tells languages of one script apart: common words, letters of their own, and word endings.

Written for this lens. Words are lower case; an apostrophe ends an elided one (``l'``). Letters count wherever
they occur in a word; endings are the last three letters of longer words that are none of these words.
"""

from __future__ import annotations

__all__ = ["ENDINGS", "LETTERS", "SIMPLIFIED", "TRADITIONAL", "WORDS"]

WORDS = {
    "en": """the of and to in a is that for it as was with be by on not he his but at are this have from or
        had an they which one you were all her she there would their we him been has when who will no
        more if out so up what its about into than them can only other time new some these two may then
        do first any my now such our over also how after should most where through between before under
        however your use used using show don' does each both while many those whether could being very
        because same without""",
    "de": """der die und in den von zu das mit sich des auf für ist im dem nicht ein eine als auch es an
        werden aus er hat dass sie nach wird bei einer um am sind noch wie einem über einen so zum war
        haben nur oder aber vor zur bis mehr durch man sein wurde sei wir ich kann diese dieser dieses
        wenn was ihre seine unter eines gegen vom können muss schon hier alle sehr zwischen keine
        nichts ohne kein sowie jedoch damit ihr uns bitte""",
    "fr": """de la le et les des en un du une que est pour qui dans a par plus pas au sur ne se ce il sont
        avec ont aux d' l' qu' s' n' c' j' son cette ou mais comme nous vous sa ses été être leur elle
        ils fait aussi entre sans deux ces même peut tout où dont très bien sous lors afin non si votre
        notre je tous chaque toutes avez ainsi était depuis doit""",
    "es": """de la que el en y a los se del las un por con no una su para es al lo como más o pero sus le ha
        me si sin sobre este ya entre cuando todo esta ser son dos también fue había era muy años hasta
        desde está mi porque qué sólo han yo hay vez puede todos así nos ni parte tiene él uno donde
        bien ese sido estos esto esa estas e otros mediante otra cada usted debe nuestra nuestro""",
    "pt": """de a o que e do da em um para é com não uma os no se na por mais as dos como mas foi ao ele das
        tem à seu sua ou ser quando muito há nos já está eu também só pelo pela até isso ela entre era
        depois sem mesmo aos ter seus quem nas me esse eles estão você essa num nem suas meu às minha
        têm numa pelos pelas este esta são foram sobre cada deve dois nosso""",
    "it": """di e il la che in un a per è una del non sono della con i si da le dei come al alla nel più lo
        gli ha dell' l' un' d' all' nell' c' delle anche ma o nella se ed dal questo questa su dalla ai
        tra stato degli essere alle due fra ad quando era suo sua ci loro hanno molto dopo sulla sul
        può ogni quali cui stata dove già solo dell così senza mi perché tutti deve sia""",
    "nl": """de van het een en in is dat op te zijn met voor die niet aan er om als ook bij door maar uit
        hij dan was naar nog worden wordt of tot meer zich over hebben heeft kan werd deze we ze dit
        geen zo wel veel haar waar tussen na moet kunnen onder andere ik je had al hun wat onze twee
        tegen toch zij werden alle elke omdat zonder u uw moeten welke""",
    "sv": """och i att det som en på är av för med till den har de inte om ett han men var jag sig från så
        kan när vid man nu skulle över ska hade också efter eller sin där mot kommer ut alla under här
        upp mycket vara utan hur bara än mellan denna detta dessa blir blev finns andra vi du mer vad
        hon samt sina någon måste får din varje inga ingen""",
    "da": """og i at det en er på til af for som med den de har ikke der et om han var men sig fra vi kan
        jeg så ved skal efter eller over også blev når havde nu hun være mod ud alle op hvor under
        meget kun mellem denne dette disse bliver blevet andre du mere hvad end hans hendes uden deres
        sine noget man vil da nogle skulle må hver selv kunne
        dig gennem første flere brug hvis således gøre blandt""",
    "no": """og i det er på til av for som med en den har de at ikke et om han var men seg fra vi kan jeg så
        ved skal etter eller over også ble når hadde nå hun være mot ut alle opp hvor under mye bare
        mellom denne dette disse blir blitt andre du mer hva enn hans hennes uten deres sine noe man
        vil da noen skulle må hver selv kunne fram ein eit ikkje eg
        deg gjennom første flere bruk dersom slik gjøre blant""",
    "fi": """ja on ei se että oli joka myös mutta ovat kun hän kuin tai olla niin jos sen ole sekä mukaan
        vain nyt ne voi jo olisi tämä mitä vielä kuitenkin jotka hänen sitä siitä tämän koska kanssa
        noin ollut ennen jälkeen joita jonka eivät en kaikki näin sillä kuten näiden välillä tässä siis
        minä me he joissa paljon täytyy tulee ettei anna älä""",
    "pl": """w i na z się do nie że to jest o jak po od za przez a dla ale są tym tego który oraz już co czy
        także tylko przy może które był jego jej lub być ze było była tak ich ma ten również gdy bardzo
        jako między można której których pod tej by aby sobie tych jednak jeśli we ta te mi został nas
        musi proszę bez jeszcze nad""",
    "cs": """a v se na je že s z o i do to ve pro za by ale si po jako jsou jeho podle od tak jsem jen když
        která které který jak nebo aby už byl bylo byla ze při než také však mezi před být může až
        jejich co k ke proti této tento bude má není u další kde nebyl ho jsme dvě tím těchto musí
        pouze""",
    "sk": """a v sa na je že s z o aj do to vo pre za by ale si po ako sú jeho podľa od tak som len keď
        ktorá ktoré ktorý ktorých alebo aby už bol bolo bola zo pri než tiež však medzi pred byť môže
        až ich čo k ku proti tento tejto bude má nie u ďalšie kde jej ho sme musí iba""",
    "hu": """a az és hogy nem is egy ez volt de csak már van azt ki mint még meg el ha vagy után pedig ezt
        két kell lesz minden sem majd amely akkor azonban lehet ami szerint nagyon ezek között mert
        olyan aki így más arra be fel nincs ebben vannak több első során által ezért valamint illetve
        amelyek itt ezen való kérjük melyet lehetett""",
    "ro": """de și în a la cu pe care nu este o un din să se pentru mai au fost prin sau ce al ale ca fi lui
        dar sunt după ei cele cel între era iar până dacă acest această fără foarte lor decât sa are
        doar despre când putea poate către toate unui unei vor fie asupra cum trebuie astfel sub şi si
        sînt""",
    "tr": """ve bir bu da de için ile çok olarak daha olan gibi en sonra kadar ne o ya var ancak her değil
        ise mi iki göre diye ama olduğu ki veya yeni kendi oldu ben olduğunu tarafından büyük arasında
        hem nasıl şu önce zaman yok bunu içinde üzerinde onun sadece bunun bazı tüm ayrıca eğer lütfen
        olması edilen""",
    "vi": """và của là có được cho các trong không một người với những để đã khi từ này đến về tôi ra cũng
        như vào nhưng sẽ phải năm ông trên theo tại nhiều hay rất sau thì bị đó đang nào đi hoặc bởi
        nếu vì chỉ việc giữa cách mà nhất hơn bạn số dụng""",
    "id": """yang dan di dengan untuk dari pada ini dalam adalah tidak itu akan ke oleh juga sebagai karena
        atau dapat telah ada lebih tersebut mereka bahwa saya kami bisa satu secara kepada seperti
        menjadi antara sudah para harus hanya namun anda kita saat setelah belum dua tahun masih sangat
        jika serta bagi sampai tetapi merupakan""",
    "ca": """de la el i en que a els les per un una és amb del no es al als dels l' d' s' n' més com són o
        va pel però aquest aquesta entre ha han també seva seu molt ser fins on quan sobre si ja hi tot
        dos anys sense després perquè bé tots això cada qual aquests hem aquestes ens van meva nostre""",
    "hr": """i u je se na da za su od s o a kao koji što ne iz to bio ili te ali koja koje može bi sa ako
        biti nije po do samo prema kako više bila bilo nakon između već koju treba sve jer još kada
        gdje tijekom dok također ima njegov mogu svi bez kod ove ovaj ova ovo zbog pri zatim prije smo
        sam""",
    "ru": """и в не на что с по как это из а он к для от но так за его о у же или был все также при их было
        бы до которые она только которых мы может если ее еще после того этого они есть более были
        когда быть между под нет уже со который чтобы где даже этом без этой надо вы нас""",
    "uk": """і в не на що з та до як це за від але або його для про у також був які є по він при їх було
        після може якщо вона були який має де між під цього через тільки бути ми коли ще більше того
        яка щоб із зі цей ця її вони так вже без саме ви нас""",
    "bg": """и на в се от да за с е не са по като до че което или той при след ще но който която които беше
        има между може много една един то този това тази тези през как само те към когато още няма така
        би бил били без ли ние вие под трябва защото съм""",
    "sr": """и у је се на да за су од са о а као који што не из то био или те али која које може би ако бити
        није по до само према како више била било након између већ коју треба све јер још када где
        током док такође има његов могу сви без код ове овај ова ово због при затим пре смо сам""",
    "ar": """في من على إلى أن التي الذي هذا هذه عن مع لا ما كان بين أو كما بعد قد كل لم ذلك هو هي غير عند تم
        أي حيث منذ قبل إن وقد كانت وفي ومن لكن خلال ثم يكون تكون نحن بها فيها عليه فيه""",
    "fa": """در و به از که این را است با برای آن یک بود شده می ها تا بر هم شد های خود کرد دو اما یا باید نیز
        اگر هر شود ما کرده کند پس همه بین بوده ای من او آنها دارد بی چه وی نمی دیگر باشد لطفا""",
    "ur": """کے میں کی ہے اور سے کا کو اس نے پر ہیں یہ ایک کہ تھا کیا بھی جو نہیں ہو گیا تو لیے وہ ہوں تھے
        تھی ساتھ کر بعد ان دیا کوئی ہی یا ہوا جا رہا گئی پاکستان براہ کرم""",
}

LETTERS = {
    "en": "",
    "de": "ä ö ü ß",
    "fr": "é è ê à ç ù û ô î œ ë ï â",
    "es": "ñ á é í ó ú ¿ ¡",
    "pt": "ã õ ç á é ê í ó ú â à ô",
    "it": "à è é ì ò ù",
    "nl": "ë ï ĳ",
    "sv": "å ä ö",
    "da": "å æ ø",
    "no": "å æ ø",
    "fi": "ä ö",
    "pl": "ą ć ę ł ń ó ś ź ż",
    "cs": "á č ď é ě í ň ř š ť ú ů ý ž",
    "sk": "á ä č ď é í ĺ ľ ň ô ŕ š ť ú ý ž",
    "hu": "á é í ó ö ő ú ü ű",
    "ro": "ă â î ș ț ş ţ",
    "tr": "ç ğ ı ö ş ü",
    "vi": """ă â đ ê ô ơ ư ạ ả ấ ầ ẩ ẫ ậ ắ ằ ẳ ẵ ặ ẹ ẻ ẽ ế ề ể ễ ệ ỉ ị ọ ỏ ố ồ ổ ỗ ộ ớ ờ ở ỡ ợ ụ ủ ứ ừ ử ữ ự
        ỳ ỷ ỹ""",
    "id": "",
    "ca": "à ç è é í ï ò ó ú ü",
    "hr": "č ć đ š ž",
    "ru": "ы э ъ ё й щ",
    "uk": "і ї є ґ й щ",
    "bg": "ъ й щ",
    "sr": "ђ ј љ њ ћ џ",
    "ar": "ة ى إ أ ي ك",
    "fa": "پ چ ژ گ ک ی",
    "ur": "ٹ ڈ ڑ ں ے ہ ھ پ چ گ ک ی",
}

ENDINGS = {
    "en": """ing ion ent ity ess ous ive ble ics ogy ted sed ned red ers ngs ons nts ies ful ism ist ory ary
        ght ath ish aph ork""",
    "de": "ung gen hen ten eit ich sch ern nis aft tät ben len nen den ren sen ter ler ner gie mus uch",
    "fr": "ion ent eur eux que ité aux ées tés tre ble oir ère nce ale ive ons eau age our rie ois",
    "es": "ión dad nte ado ida ada ico ica nes dos das ios ias cia rio ble ero era cos cas res",
    "pt": "ção ade nte ado ida ada ico ica ões dos das ios ias cia rio vel ero ura tos cos cas gia gem",
    "it": "one ità nte ato ita ata ico ica oni ati ate ivi zia rio ile ale ura nti che ici gia are ere ire",
    "nl": "ing gen eid ijk nde den ten ren ven ken len nen aar eit uur tie sie ies aan",
    "sv": "ing tet ade ens nde het gen rna ska isk era lig are tur ori ner",
    "da": "ing gen tet ede ens nde hed ion rne ske isk ere lig der tur ori sen ser ter",
    "no": "ing gen tet ede ens nde het jon ene ske isk ere lig der tur ori sen ser ter",
    "fi": "nen sta ssa lla sti iin aan ään ksi tta sen set lle mus ssä llä stä vat den jen een oja",
    "pl": "nie nia ych ego ość ści owy owa ymi ach ami cja cji ski ska kie nej ane owi ieć wać",
    "cs": "ost sti ého ých ání ení ech ami ský ská ské kou nou cké ace aci ním ují ový ová",
    "sk": "osť sti ého ých nie nia ami och ský ská ské kou nou cké cia cie ním ujú ova ový ová",
    "hu": "ban ben nak nek ság ség tás tés ból ről val vel ott ett ány lás lés kat ket ait tal ése ása",
    "ro": "rea lor ția ate ere are ele ile iei ții ică ice ist ent ant lui",
    "tr": "lar ler nda nde dır dir ası esi ına ine ını ini arı eri lik lık mak mek dan den rak iği ığı yor",
    "vi": "",
    "id": "kan nya ang asi kah aan ran tan nan lan gan ian han",
    "ca": "ció tat ent ada ats ica ics nts ons ura ari ble nça ors ies",
    "hr": "nje nja ost sti ima ama nih nog ski ska sko ije ija iti ati ova nom vni",
}

# Characters in everyday use that are written in one of the two forms of Chinese only, pair by pair.
SIMPLIFIED = (
    "国们说时为来个会这对发经过还学进种现动么开点样实两长问应间关头无义话与电气门体机书当车见业产东乐"
    "军农决几务单卖卫压厂历号吗员响图团场坏块声处备够妈孙宁宝审宫层岁岛币师带帮广庆库张归录总战户护报"
    "担换损据旧显术权条极构标树桥检楼欢毕汇汉沟济测温湾满灭灯灵热爱状独环监盖盘码确离积称稳穷竞笔类粮"
    "紧红级纪约线练组细终织绍结给络统继绩绿维综网罗职联脑脚节范药营虑虽观规视览觉计订认讨让训议记讲许"
    "论设访证评识诉词译试诗诚该详语误请诸课调谁谈谢负财责败货质贡购贵费资赛赞轮软轻载输辑边达迁运远连"
    "选递遗邮释针钟钱铁错键镇闭闻阅队阳阴阶际陆险随难顶项顺须预领题颜额风飞饭饮馆驱验鱼鲜鸟齐龙"
)
TRADITIONAL = (
    "國們說時為來個會這對發經過還學進種現動麼開點樣實兩長問應間關頭無義話與電氣門體機書當車見業產東樂"
    "軍農決幾務單賣衛壓廠歷號嗎員響圖團場壞塊聲處備夠媽孫寧寶審宮層歲島幣師帶幫廣慶庫張歸錄總戰戶護報"
    "擔換損據舊顯術權條極構標樹橋檢樓歡畢匯漢溝濟測溫灣滿滅燈靈熱愛狀獨環監蓋盤碼確離積稱穩窮競筆類糧"
    "緊紅級紀約線練組細終織紹結給絡統繼績綠維綜網羅職聯腦腳節範藥營慮雖觀規視覽覺計訂認討讓訓議記講許"
    "論設訪證評識訴詞譯試詩誠該詳語誤請諸課調誰談謝負財責敗貨質貢購貴費資賽贊輪軟輕載輸輯邊達遷運遠連"
    "選遞遺郵釋針鐘錢鐵錯鍵鎮閉聞閱隊陽陰階際陸險隨難頂項順須預領題顏額風飛飯飲館驅驗魚鮮鳥齊龍"
)
