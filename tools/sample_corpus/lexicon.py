"""The words of the sample corpus: in its sentence, each German word has exactly one English translation.

Tables are text, one entry a line, so that they can be read and extended at a glance.
In English an underscore separates the words of one entry (`football_player`).
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Noun:
    """A noun with the forms that German inflection needs; `group` is its semantic class."""

    group: str
    gender: str  # m, f, n
    singular: str
    oblique: str  # accusative and dative singular: differs from the nominative in weak nouns (der Junge, den Jungen)
    plural: str
    english: str
    english_plural: str

    @property
    def dative_plural(self) -> str:
        """The plural with its dative -n."""
        return self.plural if self.plural[-1] in "ns" else self.plural + "n"


@dataclass(frozen=True)
class Verb:
    """A verb, its subjects and objects, and its forms in both languages."""

    subjects: tuple[str, ...]  # groups of nouns
    objects: tuple[str, ...]  # one pattern per object: see `tools.sample_corpus.verbs`
    places: tuple[str, ...]  # kinds of place; ("path",) for motion
    placed: bool  # whether a place is required: "steht" needs one
    infinitive: str  # without its separable prefix
    third: str
    participle: str  # without its separable prefix
    auxiliary: str  # haben or sein, for the perfect tense
    prefix: str
    base: str
    third_english: str
    progressive: str
    past: str
    particle: str  # what follows the English verb: put *on*, look *at*
    stative: bool  # simple present in English: "knows", not "is knowing"


@dataclass(frozen=True)
class Adjective:
    """An adjective; `groups` are the nouns that it fits. Adjectives of `size` come before the others."""

    german: str
    english: str
    groups: tuple[str, ...]
    size: bool


@dataclass(frozen=True)
class Place:
    """A preposition, its case and a noun: a place (dative), or the goal or path of a motion."""

    kinds: tuple[str, ...]
    preposition: str
    case: str
    noun: Noun
    english: str


@dataclass(frozen=True)
class Modal:
    """A modal verb; in English all forms but the third person singular are the same."""

    third: str
    plural: str
    third_english: str
    plural_english: str


ANIMALS = ("dog", "cat", "farm", "wild", "bird")
GROUPS = {
    "animal": ANIMALS,
    "people": ("person",),
    "any": ("person", *ANIMALS),
    "item": ("thing", "garment", "text", "toy"),
    "object": ("thing", "garment", "text", "toy", "food", "fruit", "vehicle"),
    "eatable": ("food", "fruit"),
}


def expand(names: str) -> tuple[str, ...]:
    """The noun groups in a comma-separated list, with the collective names in `GROUPS` expanded."""
    return tuple(group for name in names.split(",") for group in GROUPS.get(name, (name,)))


def _noun(group: str, row: str) -> Noun:
    gender, singular, plural, english, english_plural = row.split()
    oblique = plural if gender.endswith("*") else singular
    return Noun(group, gender[0], singular, oblique, plural, english, english_plural)


NOUN_TABLE = {
    "person": """
        m Mann Männer man men
        f Frau Frauen woman women
        m* Junge Jungen boy boys
        n Mädchen Mädchen girl girls
        n Kind Kinder child children
        m Vater Väter father fathers
        f Mutter Mütter mother mothers
        m Großvater Großväter grandfather grandfathers
        f Großmutter Großmütter grandmother grandmothers
        m Lehrer Lehrer teacher teachers
        m Koch Köche cook cooks
        m* Bauer Bauern farmer farmers
        m Arzt Ärzte doctor doctors
        f Krankenschwester Krankenschwestern nurse nurses
        m* Polizist Polizisten police_officer police_officers
        m Fußballspieler Fußballspieler football_player football_players
        m Straßenhändler Straßenhändler street_vendor street_vendors
        m Bauarbeiter Bauarbeiter construction_worker construction_workers
        m Feuerwehrmann Feuerwehrmänner firefighter firefighters
        m Radfahrer Radfahrer cyclist cyclists
        f Tänzerin Tänzerinnen dancer dancers
        f Sängerin Sängerinnen singer singers
        m* Student Studenten student students
        m Musiker Musiker musician musicians
    """,
    "kin": """
        m Bruder Brüder brother brothers
        f Schwester Schwestern sister sisters
        m Sohn Söhne son sons
        f Tochter Töchter daughter daughters
        m Onkel Onkel uncle uncles
        f Tante Tanten aunt aunts
    """,
    "dog": "m Hund Hunde dog dogs\nm* Welpe Welpen puppy puppies",
    "cat": "f Katze Katzen cat cats",
    "farm": "n Pferd Pferde horse horses\nf Kuh Kühe cow cows\nf Ziege Ziegen goat goats\nn Schwein Schweine pig pigs",
    "wild": "m* Affe Affen monkey monkeys\nm* Bär Bären bear bears\nm Fuchs Füchse fox foxes",
    "bird": "m Vogel Vögel bird birds\nf Ente Enten duck ducks",
    "thing": """
        m Korb Körbe basket baskets
        f Tasche Taschen bag bags
        m Rucksack Rucksäcke backpack backpacks
        m Regenschirm Regenschirme umbrella umbrellas
        m Stuhl Stühle chair chairs
        f Leiter Leitern ladder ladders
        m Koffer Koffer suitcase suitcases
        f Kiste Kisten box boxes
        m Eimer Eimer bucket buckets
    """,
    "toy": "m Ball Bälle ball balls\nf Puppe Puppen doll dolls\nm Drachen Drachen kite kites",
    "garment": """
        m Hut Hüte hat hats
        f Jacke Jacken jacket jackets
        m Mantel Mäntel coat coats
        n Hemd Hemden shirt shirts
        f Mütze Mützen cap caps
        m Schal Schals scarf scarves
        m Helm Helme helmet helmets
        m Regenmantel Regenmäntel raincoat raincoats
        f Schürze Schürzen apron aprons
    """,
    "text": """
        n Buch Bücher book books
        f Zeitung Zeitungen newspaper newspapers
        m Brief Briefe letter letters
        n Märchenbuch Märchenbücher storybook storybooks
    """,
    "fruit": "m Apfel Äpfel apple apples\nf Banane Bananen banana bananas\nf Kartoffel Kartoffeln potato potatoes",
    "food": "m Kuchen Kuchen cake cakes\nn Käsebrot Käsebrote cheese_sandwich cheese_sandwiches\nn Ei Eier egg eggs",
    "vehicle": """
        n Auto Autos car cars
        m Bus Busse bus buses
        m Lastwagen Lastwagen truck trucks
        m Traktor Traktoren tractor tractors
    """,
}
NOUNS = {group: tuple(_noun(group, row) for row in table.strip().splitlines()) for group, table in NOUN_TABLE.items()}

# Nouns without an article, after verbs whose pattern is the name on the left.
BARE = {
    "drink": (("Kaffee", "coffee"), ("Tee", "tea"), ("Wasser", "water"), ("Milch", "milk")),
    "play": (
        ("Gitarre", "the guitar"),
        ("Klavier", "the piano"),
        ("Geige", "the violin"),
        ("Fußball", "football"),
        ("Schach", "chess"),
        ("Karten", "cards"),
    ),
    "song": (("ein Lied", "a song"), ("viele Lieder", "many songs")),
}


def _adjective(row: str) -> Adjective:
    german, english, groups = row.split()
    return Adjective(german, english, expand(groups), size=german in ("klein", "groß"))


ADJECTIVES = tuple(
    _adjective(row)
    for row in """
        klein small any,object
        groß big animal,object
        alt old any,item,vehicle
        jung young any
        müde tired any
        hungrig hungry any
        glücklich happy person
        traurig sad person
        freundlich friendly person
        fleißig hardworking person
        stark strong person,wild
        mutig brave person
        durstig thirsty any
        krank sick any
        braun brown dog,cat,farm,bird,thing,garment
        schwarz black dog,cat,farm,bird,thing,garment,vehicle
        weiß white dog,cat,farm,bird,thing,garment,vehicle
        wild wild wild
        rot red thing,garment,toy,vehicle
        blau blue thing,garment,toy,vehicle
        grün green thing,garment,toy,vehicle
        gelb yellow thing,garment,toy,vehicle
        neu new item,vehicle
        schwer heavy thing
        schön beautiful toy,garment,vehicle
        schmutzig dirty thing,garment,vehicle
        frisch fresh eatable
        spannend exciting text
    """.strip().splitlines()
)
FEELINGS = tuple(a for a in ADJECTIVES if a.german in ("müde", "hungrig", "durstig", "krank", "glücklich", "traurig"))


def _place(row: str) -> Place:
    kinds, preposition, case, gender, singular, english, noun = row.split()
    return Place(
        tuple(kinds.split(",")), preposition, case, Noun("place", gender, singular, singular, "-", noun, "-"), english
    )


PLACES = tuple(
    _place(row)
    for row in """
        town,nature in dat m Park in park
        nature,work in dat m Garten in garden
        nature auf dat f Wiese in meadow
        nature in dat m Wald in forest
        nature,work auf dat m Bauernhof on farm
        nature hinter dat f Scheune behind barn
        nature unter dat m Baum under tree
        town auf dat f Straße on street
        town an dat m Strand at beach
        town auf dat m Spielplatz on playground
        town,work auf dat m Markt at market
        town an dat m Bahnhof at train_station
        town vor dat n Haus in_front_of house
        town neben dat m Brunnen next_to fountain
        home,kitchen,work in dat f Küche in kitchen
        home in dat n Wohnzimmer in living_room
        home in dat n Restaurant in restaurant
        seat auf dat n Sofa on sofa
        seat auf dat f Bank on bench
        water in dat m Fluss in river
        water in dat m See in lake
        path,wander über acc f Wiese across meadow
        path,wander durch acc m Wald through forest
        path,wander durch acc m Park through park
        path,wander in acc m Garten into garden
        path in acc n Haus into house
        path aus dat n Haus out_of house
        path,wander über acc f Brücke across bridge
        path,road über acc f Straße across street
        path,road durch acc f Stadt through city
        path,road zu dat m Bahnhof to train_station
        path zu dat m Markt to market
        path zu dat f Schule to school
        path an acc m Strand to beach
        fly über acc n Haus over house
        fly über acc m Wald over forest
        fly über acc m Fluss over river
    """.strip().splitlines()
)

MODALS = (
    Modal("kann", "können", "can", "can"),
    Modal("muss", "müssen", "must", "must"),
    Modal("soll", "sollen", "should", "should"),
    Modal("will", "wollen", "wants_to", "want_to"),
    Modal("möchte", "möchten", "would_like_to", "would_like_to"),
)
