"""The verbs of the sample corpus.

Each row: subjects; objects; places; German (infinitive, third person, participle, auxiliary, separable prefix);
English (base, third person, progressive, past, particle). `-` means none, `!` a place that is required, and `=` in
the column of the progressive a verb without one.

An object's pattern is `case:groups`, or the name of a list of bare nouns; `a:` and `d:` are accusative and dative.
"""

from tools.sample_corpus.lexicon import Verb, expand

VERB_TABLE = """
any; -; seat,nature; schlafen schläft geschlafen haben -; sleep sleeps sleeping slept -
people; -; seat,nature!; sitzen sitzt gesessen haben -; sit sits sitting sat -
animal; -; nature!; liegen liegt gelegen haben -; lie lies lying lay -
item; -; seat,nature!; liegen liegt gelegen haben -; lie lies lying lay -
vehicle; -; town!; stehen steht gestanden haben -; stand stands standing stood -
any; -; town,nature!; stehen steht gestanden haben -; stand stands standing stood -
any; -; town,nature; warten wartet gewartet haben -; wait waits waiting waited -
any; -; town,nature; spielen spielt gespielt haben -; play plays playing played -
people; -; town,nature,home; tanzen tanzt getanzt haben -; dance dances dancing danced -
people; -; town,nature,home; singen singt gesungen haben -; sing sings singing sang -
people; -; town,nature,home; lachen lacht gelacht haben -; laugh laughs laughing laughed -
people; -; town,nature,home; weinen weint geweint haben -; cry cries crying cried -
people; -; work; arbeiten arbeitet gearbeitet haben -; work works working worked -
people; -; kitchen; kochen kocht gekocht haben -; cook cooks cooking cooked -
dog; -; town,nature; bellen bellt gebellt haben -; bark barks barking barked -
person,dog,bird; -; water; schwimmen schwimmt geschwommen sein -; swim swims swimming swam -
any; -; path!; laufen läuft gelaufen sein -; run runs running ran -
any; -; path!; gehen geht gegangen sein -; walk walks walking walked -
bird; -; fly; fliegen fliegt geflogen sein -; fly flies flying flew -
vehicle; -; road!; fahren fährt gefahren sein -; drive drives driving drove -
vehicle; -; town; anhalten hält gehalten haben an; stop stops stopping stopped -
any; -; nature; aufwachen wacht gewacht sein auf; wake wakes waking woke up
any; -; seat,nature; einschlafen schläft geschlafen sein ein; fall falls falling fell asleep
any; -; nature,town; hinfallen fällt gefallen sein hin; fall falls falling fell down
any; -; -; weglaufen läuft gelaufen sein weg; run runs running ran away
people; -; -; aufstehen steht gestanden sein auf; get gets getting got up
people; -; town; ankommen kommt gekommen sein an; arrive arrives arriving arrived -
people; a:eatable; town,home,nature; essen isst gegessen haben -; eat eats eating ate -
animal; a:fruit; nature; fressen frisst gefressen haben -; eat eats eating ate -
people; drink; town,home,nature; trinken trinkt getrunken haben -; drink drinks drinking drank -
people; play; town,home,nature; spielen spielt gespielt haben -; play plays playing played -
people; song; town,home,nature; singen singt gesungen haben -; sing sings singing sang -
people; a:text; town,home,nature,seat; lesen liest gelesen haben -; read reads reading read -
people; a:thing; town,path; tragen trägt getragen haben -; carry carries carrying carried -
people; a:garment; town,nature; tragen trägt getragen haben -; wear wears wearing wore -
people; a:garment; -; anziehen zieht gezogen haben an; put puts putting put on
people; a:garment; -; ausziehen zieht gezogen haben aus; take takes taking took off
people; a:item; town,home,nature; aufheben hebt gehoben haben auf; pick picks picking picked up
people; a:item,vehicle; town; anschauen schaut geschaut haben an; look looks looking looked at
people; a:item; -; wegwerfen wirft geworfen haben weg; throw throws throwing threw away
people; a:item,eatable; -; mitbringen bringt gebracht haben mit; bring brings bringing brought along
people; a:toy; town,nature; werfen wirft geworfen haben -; throw throws throwing threw -
people; a:item,eatable; town; kaufen kauft gekauft haben -; buy buys buying bought -
people; a:item,eatable; town; verkaufen verkauft verkauft haben -; sell sells selling sold -
people; a:garment,vehicle,fruit; home,nature; waschen wäscht gewaschen haben -; wash washes washing washed -
people; a:item; town,nature,home; suchen sucht gesucht haben -; look looks looking looked for
people; a:vehicle; town; reparieren repariert repariert haben -; repair repairs repairing repaired -
people; a:animal; town,nature; füttern füttert gefüttert haben -; feed feeds feeding fed -
people; a:dog,cat,farm; town,nature; streicheln streichelt gestreichelt haben -; pet pets petting petted -
people; a:animal,people; town,nature; fotografieren fotografiert fotografiert haben -; PHOTO
people; a:animal,people; town,nature; zeichnen zeichnet gezeichnet haben -; draw draws drawing drew -
people; a:people,kin; -; besuchen besucht besucht haben -; visit visits visiting visited -
people; a:people,kin; -; anrufen ruft gerufen haben an; call calls calling called -
people; a:people,kin; -; einladen lädt geladen haben ein; invite invites inviting invited -
people; a:people,kin; town; umarmen umarmt umarmt haben -; hug hugs hugging hugged -
people; d:people,kin; home,nature,work; helfen hilft geholfen haben -; help helps helping helped -
any; d:any; path; folgen folgt gefolgt sein -; follow follows following followed -
people; d:any; town,nature; zuschauen schaut geschaut haben zu; watch watches watching watched -
people; d:people; town,home; zuhören hört gehört haben zu; listen listens listening listened to
people; d:people,kin a:item,eatable; town; geben gibt gegeben haben -; give gives giving gave -
people; d:people,kin a:item,vehicle,animal; town; zeigen zeigt gezeigt haben -; show shows showing showed -
people; d:people,kin a:item,eatable; -; bringen bringt gebracht haben -; bring brings bringing brought -
people; a:any; town,nature; sehen sieht gesehen haben -; see sees = saw -
people; a:item; -; brauchen braucht gebraucht haben -; need needs = needed -
people; a:kin,animal; -; lieben liebt geliebt haben -; love loves = loved -
""".replace("PHOTO", "photograph photographs photographing photographed -")


def _words(text: str) -> tuple[str, ...]:
    return () if text == "-" else tuple(text.split(","))


def _verb(row: str) -> Verb:
    subjects, objects, places, german, english = (cell.strip() for cell in row.split(";"))
    infinitive, third, participle, auxiliary, prefix = german.split()
    base, third_english, progressive, past, particle = english.split()
    prefix = prefix.strip("-")
    return Verb(
        expand(subjects),
        () if objects == "-" else tuple(objects.split()),
        _words(places.removesuffix("!")),
        places.endswith("!"),
        infinitive.removeprefix(prefix),
        third,
        participle,
        auxiliary,
        prefix,
        base,
        third_english,
        progressive,
        past,
        particle.strip("-"),
        progressive == "=",
    )


VERBS = tuple(_verb(row) for row in VERB_TABLE.strip().splitlines())
RAIN = _verb("-; -; -; regnen regnet geregnet haben -; rain rains raining rained -")
# Takes a clause with "dass".
REPORTING = tuple(
    _verb(row)
    for row in (
        "people; -; -; sagen sagt gesagt haben -; say says = said -",
        "people; -; -; glauben glaubt geglaubt haben -; think thinks = thought -",
        "people; -; -; sehen sieht gesehen haben -; see sees = saw -",
    )
)
# Purposes of going somewhere ("um … zu …").
PURPOSES = tuple(
    verb
    for verb in VERBS
    if verb.prefix + verb.infinitive
    in ("kaufen", "verkaufen", "suchen", "füttern", "fotografieren", "zeichnen", "besuchen", "einladen", "zuschauen")
)
# What one can do while doing something else: not sleeping, and not a change of state.
STEADY = tuple(verb for verb in VERBS if verb.base != "sleep" and not (verb.prefix and verb.auxiliary == "sein"))
# What may have been done to an object, as said in a relative clause.
DEEDS = tuple(
    verb
    for verb in VERBS
    if verb.prefix + verb.infinitive
    in ("kaufen", "verkaufen", "mitbringen", "suchen", "sehen", "waschen", "fotografieren", "zeichnen", "füttern")
)
